import Models

/// How many of the slots a member should own, and what it has to do for that: as even as possible, and moving no slot
/// that can stay.
///
/// Every member computes it for itself from the list of members. While two of them see different lists they want too
/// many or too few slots between them; locks in the database decide, and the next look at the list settles it.
public struct SlotShare: Equatable {
    /// Slots to give up.
    public let release: [Slot]
    /// Slots to try for, in this order, until `wanted` of them were free.
    public let candidates: [Slot]
    public let wanted: Int

    /// `members` has the identifiers of all that are alive, in any order; `own` is added when it is missing.
    public init(members: [Int32], own: Int32, held: Set<Slot>) {
        let quota = Self.quota(of: own, among: Set(members).union([own]))
        // The highest go, the lowest come first: a member's slots stay close together, so it needs few bus topics.
        release = Array(held.sorted().dropFirst(quota))
        wanted = max(0, quota - held.count)
        candidates = wanted == 0 ? [] : Slot.all.filter { !held.contains($0) }
    }

    /// The first members in order of their identifiers get one more when it does not come out even.
    private static func quota(of own: Int32, among members: Set<Int32>) -> Int {
        let rank = members.count { $0 < own }
        let (even, rest) = Slot.count.quotientAndRemainder(dividingBy: members.count)
        return even + (rank < rest ? 1 : 0)
    }
}
