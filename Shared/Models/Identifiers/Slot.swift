/// One of 256 parts into which conversations and users are divided: the unit of ownership by a store and of
/// partitioning in the database.
public struct Slot: Hashable, Sendable {
    public static let count = 256

    public let number: UInt8

    public init(_ number: UInt8) { self.number = number }

    /// Hashes the name by FNV-1a, folded to eight bits: spread evenly, and the same in every process and for ever,
    /// because rows are stored under it. Source: RFC 9923.
    public init(ofUserNamed name: String) {
        var hash = UUIDBytes.fnv1a(name.utf8)
        hash ^= hash >> 32
        hash ^= hash >> 16
        number = UInt8(truncatingIfNeeded: hash ^ hash >> 8)
    }

    /// The group of slots that share a bus topic.
    public var group: SlotGroup { SlotGroup(number >> 4) }

    public static var all: [Slot] { (0...255).map(Slot.init) }
}

extension Slot: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

/// One of 16 ranges of 16 slots. Topics are per group: a frame for each slot would cost more than it filters.
public struct SlotGroup: Hashable, Sendable {
    public static let count = 16

    public let number: UInt8

    public init(_ number: UInt8) {
        precondition(number < Self.count, "there are \(Self.count) groups")
        self.number = number
    }

    public static var all: [SlotGroup] { (0..<UInt8(count)).map(SlotGroup.init) }
}
