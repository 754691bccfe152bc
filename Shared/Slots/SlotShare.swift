import Models

/// The share of slots that a member should own, and the steps towards it. Shares are as even as possible, and no slot
/// moves that can stay.
///
/// Every member computes its own share from the list of members. Members that see different lists may want too many or
/// too few slots between them; locks in the database decide, and the next heartbeat corrects it.
public struct SlotShare: Equatable {
    /// Slots to release.
    public let release: [Slot]
    /// Slots to try in this order until `wanted` of them are acquired.
    public let candidates: [Slot]
    public let wanted: Int

    /// - Parameters:
    ///   - members: the identifiers of all live members, in any order; `own` is added when it is missing.
    ///   - all: what is shared, in order.
    public init(members: [Int32], own: Int32, held: Set<Slot>, of all: [Slot] = Slot.all) {
        let quota = Self.quota(of: own, among: Set(members).union([own]), count: all.count)
        // The highest are released, the lowest tried first: a member's slots stay close together, so it needs few bus
        // topics.
        release = Array(held.sorted().dropFirst(quota))
        wanted = max(0, quota - held.count)
        candidates = wanted == 0 ? [] : all.filter { !held.contains($0) }
    }

    /// The remainder goes to the members with the lowest identifiers, one slot each.
    private static func quota(of own: Int32, among members: Set<Int32>, count: Int) -> Int {
        let rank = members.count { $0 < own }
        let (even, rest) = count.quotientAndRemainder(dividingBy: members.count)
        return even + (rank < rest ? 1 : 0)
    }
}
