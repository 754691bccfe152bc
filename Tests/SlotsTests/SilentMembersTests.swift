import Models
import Reactor
import TestSupport
import Testing

@testable import Slots

@Suite struct SilentMembersTests {
    private static let bound = Duration.seconds(5)
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func member(_ id: Int32, session: Int32 = 10, seenAt: Int64 = 0) -> Member {
        Member(id: id, session: session, seenAt: Timestamp(milliseconds: seenAt), isRecent: true)
    }

    /// Looks every half of a second at what `members` returns at each time, in milliseconds since the first look.
    private func looks(
        _ range: StrideThrough<Int>, _ silent: inout SilentMembers, _ members: (Int) -> [Member]
    ) -> [(at: Int, ids: [Int32])] {
        range.compactMap { time in
            let named = silent.look(at: members(time), now: start + .milliseconds(time)).map(\.id)
            return named.isEmpty ? nil : (time, named)
        }
    }

    @Test(
        "who shows the same heartbeat look after look is silent after the bound, and has it again before the next time")
    func silence() {
        var silent = SilentMembers(bound: Self.bound)
        let named = looks(stride(from: 0, through: 12_000, by: 500), &silent) {
            [member(1), member(2, seenAt: Int64($0))]
        }
        #expect(named.map(\.at) == [5000, 10_000] && named.allSatisfy { $0.ids == [1] })
    }

    @Test("impatient looks make nobody silent any sooner")
    func impatience() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(looks(stride(from: 0, through: 9000, by: 100), &silent) { _ in [member(1)] }.map(\.at) == [5000])
    }

    @Test("one heartbeat, or another session, and the time begins anew", arguments: [true, false])
    func sign(isHeartbeat: Bool) {
        var silent = SilentMembers(bound: Self.bound)
        let named = looks(stride(from: 0, through: 9500, by: 500), &silent) { time in
            let isLate = time >= 4500
            return [member(1, session: isLate && !isHeartbeat ? 11 : 10, seenAt: isLate && isHeartbeat ? 1 : 0)]
        }
        #expect(named.map(\.at) == [9500])
    }

    @Test(
        "how the clocks are set does not matter: a heartbeat is another one, whether it lies before or behind the last")
    func clocks() {
        var silent = SilentMembers(bound: Self.bound)
        let named = looks(stride(from: 0, through: 30_000, by: 500), &silent) { time in
            let step: Int64 = (10_000..<20_000).contains(time) ? -1_200_000 : time >= 20_000 ? 1_200_000 : 0
            return [member(1, seenAt: Int64(time) + step)]
        }
        #expect(named.isEmpty)
    }

    @Test("a judge that was away knows nothing: neither its own pause nor the database's makes others silent")
    func away() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(looks(stride(from: 0, through: 4500, by: 500), &silent) { _ in [member(1)] }.isEmpty)
        // The database stood still for four seconds; nobody's heartbeat could be told.
        #expect(looks(stride(from: 8500, through: 13_000, by: 500), &silent) { _ in [member(1)] }.isEmpty)
        #expect(
            looks(stride(from: 13_500, through: 13_500, by: 500), &silent) { _ in [member(1)] }.map(\.at) == [13_500])
    }

    @Test("a judge whose looks are slow throughout ends nobody")
    func slow() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(looks(stride(from: 0, through: 60_000, by: 3000), &silent) { _ in [member(1)] }.isEmpty)
    }

    @Test("who comes back after having been gone is new")
    func comingBack() {
        var silent = SilentMembers(bound: Self.bound)
        let named = looks(stride(from: 0, through: 8000, by: 500), &silent) {
            (4000..<4500).contains($0) ? [] : [member(1)]
        }
        #expect(named.isEmpty)
    }

    /// Everybody looks in the transaction that renews the own heartbeat. Some are stopped for a while, or the database is.
    @Test(
        "whatever stands still, nobody is ended who was heard within the bound, and no two end each other",
        arguments: UInt64(0)..<100)
    func pauses(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var members = (1...4).map { SimulatedMember(Int32($0)) }
        var endings: [(by: Int32, of: Int32, at: Int)] = []
        for time in stride(from: 0, through: 60_000, by: 100) {
            if Int.random(in: 0..<600, using: &random) == 0 {  // the database, or everybody
                for index in members.indices { members[index].awake = time + 4000 }
            }
            for index in members.indices.shuffled(using: &random) {
                if Int.random(in: 0..<600, using: &random) == 0 { members[index].awake = time + 7000 }
                guard time >= members[index].nextLook, time >= members[index].awake else { continue }
                members[index].heartbeat = time
                members[index].nextLook = time + 500
                let others = members.filter { $0.id != members[index].id }.map {
                    member($0.id, seenAt: Int64($0.heartbeat))
                }
                for silent in members[index].silent.look(at: others, now: start + .milliseconds(time)) {
                    endings.append((members[index].id, silent.id, time))
                    #expect(time - Int(silent.seenAt.milliseconds) >= 5000)
                }
            }
        }
        for ending in endings {
            #expect(!endings.contains { $0.by == ending.of && $0.of == ending.by && abs($0.at - ending.at) < 2500 })
        }
    }

    private struct SimulatedMember {
        let id: Int32
        var heartbeat = 0
        var nextLook = 0
        var awake = 0
        var silent = SilentMembers(bound: SilentMembersTests.bound)

        init(_ id: Int32) { self.id = id }
    }
}
