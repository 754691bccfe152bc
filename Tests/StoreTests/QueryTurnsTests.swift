import Models
import Reactor
import TestSupport
import Testing

@testable import Store

/// Tests the turns at the query connections, without any connections.
@Suite
struct QueryTurnsTests {
    private static func user(_ number: Int) -> Requester { .user(UserID("user-\(number)")!) }

    /// Turns, including those in progress.
    private struct Table {
        var turns: QueryTurns
        var underWay: [QueryTurns.Turn] = []
        var now = MonotonicTime(nanoseconds: 0)
        var rests: [MonotonicTime] = []

        init(connections: Int, depth: Int = 2) { turns = QueryTurns(connections: connections, depth: depth) }

        /// Gives all turns that can be given.
        @discardableResult
        mutating func give() -> [QueryTurns.Turn] {
            var given: [QueryTurns.Turn] = []
            while let turn = turns.next(at: now, isUp: { _ in true }) { given.append(turn) }
            underWay += given
            return given
        }

        /// Ends the turn that has lasted longest.
        mutating func endFirst(after duration: Duration = .zero) {
            now = now + duration
            if let rested = turns.ended(underWay.removeFirst(), at: now) { rests.append(rested) }
        }

        /// Advances time until the last rest is over.
        mutating func rest(of requester: Requester) {
            now = max(now, rests.max() ?? now)
            turns.rested(requester, at: now)
        }
    }

    @Test("who asks once waits for one turn of somebody who asks for thousands")
    func flood() {
        var table = Table(connections: 1, depth: 1)
        for _ in 0..<5_000 { _ = table.turns.wait(Self.user(1), .light) }
        table.give()
        let ticket = table.turns.wait(Self.user(2), .light)
        table.endFirst()
        let next = table.give()
        #expect(next.map(\.ticket) == [ticket])
    }

    @Test("a requester has one turn at a time, however many connections there are")
    func oneAtATime() {
        var table = Table(connections: 4)
        for _ in 0..<10 { _ = table.turns.wait(Self.user(1), .light) }
        table.give()
        #expect(table.underWay.count == 1)
        table.endFirst()
        table.give()
        #expect(table.underWay.count == 1)
    }

    @Test("heavy turns of however many askers leave half of the connections to the others", arguments: [2, 3, 4, 7])
    func heavy(connections: Int) {
        var table = Table(connections: connections)
        for number in 0..<100 { _ = table.turns.wait(Self.user(number), .heavy) }
        let heavy = Set(table.give().map(\.connection))
        #expect(heavy.count == connections / 2)
        for number in 100..<200 { _ = table.turns.wait(Self.user(number), .light) }
        let light = table.give()
        #expect(light.count == 2 * (connections - connections / 2))
        #expect(light.allSatisfy { !heavy.contains($0.connection) }, "nothing waits behind a heavy turn")
    }

    @Test("a flood of light turns does not keep a heavy one away")
    func lightFlood() {
        var table = Table(connections: 2)
        for number in 0..<100 { _ = table.turns.wait(Self.user(number), .light) }
        table.give()
        let ticket = table.turns.wait(Self.user(100), .heavy)
        table.endFirst()
        let next = table.give()
        #expect(next.map(\.ticket) == [ticket])
    }

    @Test("whose turn took long is heavy until a quick one")
    func slow() {
        var table = Table(connections: 2, depth: 1)
        func wait(_ numbers: Int...) { for number in numbers { _ = table.turns.wait(Self.user(number), .light) } }
        wait(1, 2)
        table.give()
        table.endFirst(after: QueryTurns.longTurn * 2)
        table.endFirst()
        for number in [1, 2] { table.rest(of: Self.user(number)) }
        wait(1, 2)
        table.give()
        #expect(table.underWay.count == 1, "both took long: one of them has the half for heavy turns")
        table.endFirst()
        table.give()
        #expect(table.underWay.count == 1)
        table.endFirst()
        wait(1, 2)
        table.give()
        #expect(table.underWay.count == 2, "both were quick")
    }

    @Test("a requester who asks again and again for what takes long has half of one connection's time")
    func rest() {
        var table = Table(connections: 2)
        var served = Duration.zero
        for _ in 0..<20 { _ = table.turns.wait(Self.user(1), .heavy) }
        while table.now < MonotonicTime(nanoseconds: 0) + .seconds(3) {
            table.give()
            #expect(table.underWay.count == 1)
            table.endFirst(after: .milliseconds(300))
            served += .milliseconds(300)
            let early = table.give()
            #expect(early.isEmpty, "the requester rests")
            table.turns.rested(Self.user(1), at: table.now)
            let still = table.give()
            #expect(still.isEmpty, "and goes on resting")
            let other = table.turns.wait(Self.user(2), .heavy)
            let others = table.give()
            #expect(others.map(\.ticket) == [other], "while others are served")
            table.endFirst()
            table.rest(of: Self.user(1))
        }
        #expect(served <= .milliseconds(1_500))
    }

    @Test("a rest has a bound, and who works for nobody has none")
    func longestRest() {
        var table = Table(connections: 1)
        _ = table.turns.wait(Self.user(1), .heavy)
        table.give()
        table.endFirst(after: .seconds(5))
        #expect(table.rests == [table.now + QueryTurns.longestRest])
        _ = table.turns.wait(.service, .heavy)
        table.give()
        table.endFirst(after: .seconds(5))
        #expect(table.rests.count == 1)
        _ = table.turns.wait(.service, .heavy)
        let again = table.give()
        #expect(again.count == 1)
    }

    @Test("a query goes on though its requester was forgotten to be heavy while it waited")
    func forgotten() {
        var table = Table(connections: 2)
        _ = table.turns.wait(Self.user(1), .heavy)
        table.give()
        table.endFirst(after: .milliseconds(300))
        _ = table.turns.wait(.service, .heavy)
        table.give()
        let ticket = table.turns.wait(Self.user(1), .light, goesOn: true)
        let service = table.underWay.removeFirst()
        for number in 0..<5_000 {
            _ = table.turns.wait(Self.user(2 + number), .light)
            table.give()
            table.endFirst(after: .milliseconds(60))
        }
        table.underWay = [service]
        table.endFirst()
        let next = table.give()
        #expect(next.map(\.ticket) == [ticket])
    }

    @Test("a query that has begun goes on before others of its requester begin, and does not rest")
    func depthFirst() {
        var table = Table(connections: 2)
        for _ in 0..<10 { _ = table.turns.wait(Self.user(1), .heavy) }
        table.give()
        var waiting: [QueryTurns.Ticket] = []
        for _ in 0..<6 {
            // The next turn is requested after the previous one has ended and the requester's next one has begun.
            table.endFirst()
            table.give()
            waiting.append(table.turns.wait(Self.user(1), .light, goesOn: true))
            table.give()
            table.endFirst()
            let next = table.give()
            #expect(next.map(\.ticket) == [waiting.removeFirst()])
        }
        table.endFirst(after: .milliseconds(300))
        let resting = table.give()
        #expect(resting.isEmpty)
        let ticket = table.turns.wait(Self.user(1), .light, goesOn: true)
        let next = table.give()
        #expect(next.map(\.ticket) == [ticket])
    }

    @Test("a connection that is not up gets no turn; who waits for none is told")
    func down() {
        var turns = QueryTurns(connections: 2)
        let tickets = Set((0..<3).map { turns.wait(Self.user($0), .light) })
        let turn = turns.next(at: .now, isUp: { $0 == 1 })
        #expect(turn?.connection == 1)
        let none = turns.next(at: .now, isUp: { _ in false })
        #expect(none == nil)
        let dismissed = turns.dismissAll()
        #expect(Set(dismissed) == tickets.subtracting([turn!.ticket]))
        #expect(turns.waitingCount == 0)
        _ = turns.ended(turn!, at: .now)
        _ = turns.wait(Self.user(0), .light)
        let later = turns.next(at: .now, isUp: { _ in true })
        #expect(later != nil, "those who ask later are served")
    }

    /// While a requester's turn waits, no other gets more than two of that weight: one that was ahead of it, and one
    /// that came up again behind it.
    @Test("every turn is given once, and nobody is passed by again and again", arguments: UInt64(0)..<200)
    func anySchedule(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = Table(
            connections: Int.random(in: 1...5, using: &random), depth: Int.random(in: 1...3, using: &random))
        let weights: [QueryTurns.Weight] = (0..<6).map { _ in Bool.random(using: &random) ? .light : .heavy }
        var waiting: [QueryTurns.Ticket: Int] = [:]
        var passes: [Int: [Requester: Int]] = [:]

        func give() {
            // Requesters that stand in a ring.
            for number in Set(waiting.values)
            where !table.underWay.contains(where: { $0.requester == Self.user(number) }) {
                passes[number] = passes[number] ?? [:]
            }
            for turn in table.give() {
                let given = waiting.removeValue(forKey: turn.ticket)
                #expect(given != nil, "given once, to who waits")
                guard let given else { continue }
                passes[given] = nil
                for number in passes.keys where weights[number] == weights[given] {
                    passes[number]![turn.requester, default: 0] += 1
                    #expect(passes[number]![turn.requester]! <= 2)
                }
            }
        }
        for _ in 0..<300 {
            if Bool.random(using: &random) {
                let number = Int.random(in: 0..<6, using: &random)
                waiting[table.turns.wait(Self.user(number), weights[number])] = number
            } else if !table.underWay.isEmpty {
                let ended = table.underWay.remove(at: Int.random(in: 0..<table.underWay.count, using: &random))
                _ = table.turns.ended(ended, at: table.now)
            }
            give()
            #expect(Set(table.underWay.map(\.requester)).count == table.underWay.count)
        }
        while !table.underWay.isEmpty {
            table.endFirst()
            give()
        }
        #expect(waiting.isEmpty)
    }

    // MARK: Room

    private func expectEntry(_ expected: Bool, _ requester: Requester, bytes: Int = 0, _ room: inout SharedRoom) {
        let entered = room.enter(requester, bytes: bytes)
        #expect(entered == expected)
    }

    @Test("nobody takes more room than is left: there is some for whoever comes next")
    func room() {
        var room = SharedRoom(limit: 100, byteLimit: 1_000)
        let greedy = (0..<200).count { _ in room.enter(Self.user(1)) }
        #expect(greedy == 50)
        let second = (0..<200).count { _ in room.enter(Self.user(2)) }
        #expect(second == 25)
        expectEntry(true, Self.user(3), &room)
        for _ in 0..<50 { room.leave(Self.user(1)) }
        expectEntry(true, Self.user(1), &room)
    }

    @Test("bytes are shared like requests")
    func bytes() {
        var room = SharedRoom(limit: 100, byteLimit: 1_000)
        expectEntry(true, Self.user(1), bytes: 500, &room)
        expectEntry(false, Self.user(1), bytes: 1, &room)
        expectEntry(true, Self.user(2), bytes: 200, &room)
        room.leave(Self.user(1), bytes: 500)
        expectEntry(true, Self.user(1), bytes: 1, &room)
        #expect(room.bytes == 201 && room.count == 2)
    }
}
