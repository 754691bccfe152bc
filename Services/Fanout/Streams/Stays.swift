/// The ranges of positions of a conversation that one reader may see. Each stay lasts from the change that added them
/// to the change that removed them, both included. Ascending, never empty. A reader who sees nothing has
/// one that ends before its beginning.
struct Stays: Equatable {
    struct Stay: Equatable {
        var from: Int64
        /// Nil while no end is known.
        var through: Int64?
    }

    private var stays: [Stay]

    /// Everything, for private streams.
    static let unlimited = Stays([Stay(from: 1, through: nil)])

    init(_ stays: [Stay]) {
        precondition(!stays.isEmpty, "a reader needs at least one stay")
        self.stays = stays.sorted { $0.from < $1.from }
    }

    /// The first position of the latest stay.
    var latestStart: Int64 { stays[stays.count - 1].from }

    /// The last visible position; nil while the latest stay is open.
    var end: Int64? { stays[stays.count - 1].through }

    func contains(_ position: Int64) -> Bool { index(of: position) != nil }

    /// Returns the first visible position after `position`; nil when there is none and none can come.
    func next(after position: Int64) -> Int64? {
        for (index, stay) in stays.enumerated() {
            let next = max(position + 1, stay.from)
            if next <= stay.through ?? .max, index == stays.count - 1 || next < stays[index + 1].from { return next }
        }
        return nil
    }

    /// Returns the number of visible positions after `position` and up to `end`.
    func count(after position: Int64, through end: Int64) -> Int64 {
        stays.reduce(0) { $0 + max(0, min($1.through ?? .max, end) - max($1.from - 1, position)) }
    }

    /// Ends the current stay with the change at `position`. A change that begins a stay does not end it.
    mutating func close(at position: Int64) {
        guard let index = index(of: position), stays[index].from < position else { return }
        stays[index].through = position
    }

    /// Ends everything behind `position`, where no change tells of the end. Nothing may be left.
    mutating func cut(through position: Int64) {
        stays.removeAll { $0.from > position }
        if stays.isEmpty { stays = [Stay(from: 1, through: 0)] }
        stays[stays.count - 1].through = min(end ?? .max, position)
    }

    /// Adds a stay after all others.
    mutating func append(from position: Int64) {
        if position > latestStart { stays.append(Stay(from: position, through: nil)) }
    }

    private func index(of position: Int64) -> Int? {
        stays.lastIndex { $0.from <= position }.flatMap { position <= stays[$0].through ?? .max ? $0 : nil }
    }
}
