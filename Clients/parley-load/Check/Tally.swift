/// The messages and their positions, in two words: a count and a fingerprint of all pairs (number, position).
///
/// Two parties that saw the same messages at the same positions, in any order, have the same tally. A lost, doubled or
/// moved message changes it, but for one case in 2⁶⁴. Runs of any length are compared in constant memory.
struct Tally: Equatable, Sendable {
    private(set) var count = 0
    private var fingerprint: UInt64 = 0

    mutating func add(number: Int, seq: Int64) {
        count += 1
        // A sum, not an exclusive or: a message present twice would cancel itself out.
        fingerprint &+= Self.mixed(UInt64(number) &* 0x9E37_79B9_7F4A_7C15 ^ Self.mixed(UInt64(bitPattern: seq)))
    }

    /// The finalizer of SplitMix64.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
