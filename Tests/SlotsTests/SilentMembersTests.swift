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

    /// Reads what `members` returns for each time in `range`, in milliseconds since the first reading.
    private func readings(
        _ range: StrideThrough<Int>, _ silent: inout SilentMembers, _ members: (Int) -> [Member]
    ) -> [(at: Int, ids: [Int32])] {
        range.compactMap { time in
            let named = silent.observe(members(time), now: start + .milliseconds(time)).map(\.id)
            return named.isEmpty ? nil : (time, named)
        }
    }

    @Test(
        "a member whose heartbeat does not change is silent after the bound, and has it again before the next time")
    func silence() {
        var silent = SilentMembers(bound: Self.bound)
        let named = readings(stride(from: 0, through: 12_000, by: 500), &silent) {
            [member(1), member(2, seenAt: Int64($0))]
        }
        #expect(named.map(\.at) == [5000, 10_000] && named.allSatisfy { $0.ids == [1] })
    }

    @Test("more frequent readings make nobody silent any sooner")
    func impatience() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(readings(stride(from: 0, through: 9000, by: 100), &silent) { _ in [member(1)] }.map(\.at) == [5000])
    }

    @Test("a heartbeat or another session restarts the time", arguments: [true, false])
    func sign(isHeartbeat: Bool) {
        var silent = SilentMembers(bound: Self.bound)
        let named = readings(stride(from: 0, through: 9500, by: 500), &silent) { time in
            let isLate = time >= 4500
            return [member(1, session: isLate && !isHeartbeat ? 11 : 10, seenAt: isLate && isHeartbeat ? 1 : 0)]
        }
        #expect(named.map(\.at) == [9500])
    }

    @Test(
        "clocks do not matter: a heartbeat counts as new whether it is earlier or later than the last")
    func clocks() {
        var silent = SilentMembers(bound: Self.bound)
        let named = readings(stride(from: 0, through: 30_000, by: 500), &silent) { time in
            let step: Int64 = (10_000..<20_000).contains(time) ? -1_200_000 : time >= 20_000 ? 1_200_000 : 0
            return [member(1, seenAt: Int64(time) + step)]
        }
        #expect(named.isEmpty)
    }

    @Test("an absent observer starts again: neither its own pause nor the database's makes others silent")
    func away() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(readings(stride(from: 0, through: 4500, by: 500), &silent) { _ in [member(1)] }.isEmpty)
        // The database stood still for four seconds; no heartbeat could be renewed.
        #expect(readings(stride(from: 8500, through: 13_000, by: 500), &silent) { _ in [member(1)] }.isEmpty)
        #expect(
            readings(stride(from: 13_500, through: 13_500, by: 500), &silent) { _ in [member(1)] }.map(\.at) == [13_500]
        )
    }

    @Test("an observer whose readings are always slow finds nobody silent")
    func slow() {
        var silent = SilentMembers(bound: Self.bound)
        #expect(readings(stride(from: 0, through: 60_000, by: 3000), &silent) { _ in [member(1)] }.isEmpty)
    }

    @Test("a member that returns after an absence is new")
    func comingBack() {
        var silent = SilentMembers(bound: Self.bound)
        let named = readings(stride(from: 0, through: 8000, by: 500), &silent) {
            (4000..<4500).contains($0) ? [] : [member(1)]
        }
        #expect(named.isEmpty)
    }

    /// Every member reads in the transaction that renews its own heartbeat. Some are stopped for a while, or the
    /// database is.
    @Test(
        "whatever stands still, no member with a heartbeat within the bound is ended, and no two end each other",
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
                guard time >= members[index].nextReading, time >= members[index].awake else { continue }
                members[index].heartbeat = time
                members[index].nextReading = time + 500
                let others = members.filter { $0.id != members[index].id }.map {
                    member($0.id, seenAt: Int64($0.heartbeat))
                }
                for silent in members[index].silent.observe(others, now: start + .milliseconds(time)) {
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
        var nextReading = 0
        var awake = 0
        var silent = SilentMembers(bound: SilentMembersTests.bound)

        init(_ id: Int32) { self.id = id }
    }
}
