import Models
import TestSupport
import Testing

@testable import Slots

@Suite struct SlotShareTests {
    @Test("a single member wants every slot")
    func alone() {
        let share = SlotShare(members: [], own: 5, held: [])
        #expect(share.wanted == 256 && share.candidates == Slot.all && share.release.isEmpty)
    }

    @Test("a member that has its share changes nothing")
    func settled() {
        let held = Set(Slot.all.prefix(128))
        let share = SlotShare(members: [1, 2], own: 2, held: held)
        #expect(share.wanted == 0 && share.release.isEmpty && share.candidates.isEmpty)
    }

    @Test("a member with too many slots releases the highest, and no more than it must")
    func tooMuch() {
        let share = SlotShare(members: [1, 2, 3], own: 1, held: Set(Slot.all))
        #expect(share.release == Array(Slot.all.suffix(256 - 86)) && share.wanted == 0)
    }

    @Test("what is shared may be a part of all slots, which stand for their shards")
    func shards() {
        let keys = [3, 9, 40].map { Slot($0) }
        let first = SlotShare(members: [1, 2], own: 1, held: [], of: keys)
        #expect(first.wanted == 2 && first.candidates == keys && first.release.isEmpty)
        let second = SlotShare(members: [1, 2], own: 2, held: Set(keys), of: keys)
        #expect(second.wanted == 0 && second.release == [Slot(9), Slot(40)])
    }

    /// Members come and go at random; each computes its share in turn and acquires what is free.
    @Test(
        "shares become even and complete as members come and go, and slots move only when they must",
        arguments: UInt64(0)..<50)
    func convergence(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var held: [Int32: Set<Slot>] = [:]
        for _ in 0..<12 {
            if held.count > 1, Bool.random(using: &random) {
                held[held.keys.randomElement(using: &random)!] = nil
            } else {
                held[.random(in: 1...1000, using: &random)] = []
            }
            let before = held
            for _ in 0..<2 { for member in held.keys.shuffled(using: &random) { rebalance(member, &held) } }
            let sizes = held.values.map(\.count)
            #expect(sizes.max()! - sizes.min()! <= 1)
            #expect(held.values.reduce(into: Set()) { $0.formUnion($1) }.count == 256 && sizes.reduce(0, +) == 256)
            for (member, slots) in before {
                let quota = held[member]!.count
                #expect(slots.intersection(held[member]!).count == min(slots.count, quota))
            }
        }
    }

    private func rebalance(_ member: Int32, _ held: inout [Int32: Set<Slot>]) {
        let share = SlotShare(members: Array(held.keys), own: member, held: held[member]!)
        held[member]!.subtract(share.release)
        let taken = held.values.reduce(into: Set()) { $0.formUnion($1) }
        held[member]!.formUnion(share.candidates.filter { !taken.contains($0) }.prefix(share.wanted))
    }
}
