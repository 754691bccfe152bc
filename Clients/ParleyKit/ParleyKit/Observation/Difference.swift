/// What is different between two states of a list, by the ids of its rows. The rows themselves, and their places, are in
/// the new state.
public struct ListDifference<ID: Hashable & Sendable>: Hashable, Sendable {
    /// In the order of the new state.
    public var inserted: [ID] = []
    /// In the order of the old state.
    public var removed: [ID] = []
    /// Those that have to be taken out and put in elsewhere so that the order is the new one; as few as possible.
    public var moved: [ID] = []
    /// The same row with another content. A row may be moved and updated.
    public var updated: [ID] = []

    public init() {}

    public var isEmpty: Bool { inserted.isEmpty && removed.isEmpty && moved.isEmpty && updated.isEmpty }

    init<Row: Identifiable & Equatable>(from old: [Row], to new: [Row]) where Row.ID == ID {
        let oldPlaces = Dictionary(uniqueKeysWithValues: old.indices.map { (old[$0].id, $0) })
        var kept: [(id: ID, place: Int)] = []
        for row in new {
            guard let place = oldPlaces[row.id] else {
                inserted.append(row.id)
                continue
            }
            kept.append((row.id, place))
            if old[place] != row { updated.append(row.id) }
        }
        let keptIds = Set(kept.map(\.id))
        removed = old.map(\.id).filter { !keptIds.contains($0) }
        let staying = Self.longestAscending(kept.map(\.place))
        moved = kept.indices.filter { !staying.contains($0) }.map { kept[$0].id }
    }

    /// The indices of a longest ascending subsequence (patience sorting).
    private static func longestAscending(_ values: [Int]) -> Set<Int> {
        // `ends[length]` is the index of the smallest value that ends a subsequence of `length + 1`.
        var ends: [Int] = []
        var previous = [Int?](repeating: nil, count: values.count)
        for index in values.indices {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if values[ends[middle]] < values[index] { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var result: Set<Int> = []
        var next = ends.last
        while let index = next {
            result.insert(index)
            next = previous[index]
        }
        return result
    }
}
