/// The stretches of a conversation that one reader may see: each stay from the change that let them in to the change
/// that let them out, both included. Ascending, never empty.
struct Stays: Equatable {
    struct Stay: Equatable {
        var from: Int64
        /// Nil as long as no end is known.
        var through: Int64?
    }

    private var stays: [Stay]

    /// Everything, for streams that are their reader's own.
    static let unlimited = Stays([Stay(from: 1, through: nil)])

    init(_ stays: [Stay]) {
        precondition(!stays.isEmpty, "who never stayed reads nothing")
        self.stays = stays.sorted { $0.from < $1.from }
    }

    /// Where the latest stay begins.
    var latestStart: Int64 { stays[stays.count - 1].from }

    /// The last visible position; nil while the latest stay lasts.
    var end: Int64? { stays[stays.count - 1].through }

    func contains(_ position: Int64) -> Bool { index(of: position) != nil }

    /// The first visible position behind `position`; nil when there is none and none can come.
    func next(after position: Int64) -> Int64? {
        for (index, stay) in stays.enumerated() {
            let next = max(position + 1, stay.from)
            if next <= stay.through ?? .max, index == stays.count - 1 || next < stays[index + 1].from { return next }
        }
        return nil
    }

    /// How many positions behind `position` and up to `end` are visible.
    func count(after position: Int64, through end: Int64) -> Int64 {
        stays.reduce(0) { $0 + max(0, min($1.through ?? .max, end) - max($1.from - 1, position)) }
    }

    /// Takes in that the reader left with the change at `position`. The change that a stay begins with ends none.
    mutating func close(at position: Int64) {
        guard let index = index(of: position), stays[index].from < position else { return }
        stays[index].through = position
    }

    /// Adds a stay behind all others.
    mutating func append(from position: Int64) {
        if position > latestStart { stays.append(Stay(from: position, through: nil)) }
    }

    private func index(of position: Int64) -> Int? {
        stays.lastIndex { $0.from <= position }.flatMap { position <= stays[$0].through ?? .max ? $0 : nil }
    }
}
