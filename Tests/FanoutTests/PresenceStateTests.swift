import Models
import Reactor
import Testing
import Wire

@testable import Fanout

private let (anna, ben, carl) = (UserID("anna")!, UserID("ben")!, UserID("carl")!)
private let (here, there) = (Instance(1), Instance(2))
private let (first, second) = (ConversationID(UUIDBytes(high: 1, low: 1)), ConversationID(UUIDBytes(high: 1, low: 2)))
private let minute = Timestamp(milliseconds: 60_000)

@Suite struct PresenceStateTests {
    @Test("a user appears with the first process that shows them, and is gone with the last")
    func lists() {
        var room = RoomPresence()
        #expect(room.replace(here, [anna, ben]) == ([anna, ben], []))
        #expect(room.replace(there, [ben, carl]) == ([carl], []))
        #expect(Set(room.users) == [anna, ben, carl] && room.users.count == 3)
        #expect(room.replace(here, []) == ([], [anna]))
        #expect(room.replace(here, []) == ([], []))
        #expect(room.contains(ben) && room.list(of: there) == [ben, carl])
        #expect(room.replace(there, [anna]) == ([anna], [ben, carl]))
    }

    @Test(
        "who is blocked is hidden from by any process that knows, and behind the last list, until a list says otherwise"
    )
    func blocked() {
        let (hash, other) = (BlockMarks.hash(ben), BlockMarks.hash(carl))
        var room = RoomPresence()
        _ = room.replace(here, [anna], blocked: [BlockMarks(anna, hashes: [hash])])
        _ = room.replace(there, [anna])
        #expect(room.hides(anna, from: hash) && !room.hides(anna, from: other) && !room.hides(carl, from: hash))
        #expect(room.marks(of: [anna, ben]) == [[hash], nil])
        _ = room.replace(there, [])
        _ = room.replace(here, [])
        #expect(room.hides(anna, from: hash), "being gone is not announced to who was shown nothing")
        _ = room.replace(there, [anna])
        #expect(!room.hides(anna, from: hash))
    }

    @Test("all changes of a user are announced together, and the last one counts")
    func updates() {
        var updates = PresenceUpdates()
        updates.appeared(anna, in: first)
        updates.appeared(ben, in: first)
        updates.appeared(anna, in: second)
        updates.gone(anna, from: first, lastSeen: minute)
        let (user, change) = updates.popFirst()!
        #expect(user == anna && change.appearedIn == [second] && change.goneFrom == [first])
        #expect(updates.isOnline(anna) && updates.isOnline(ben) && !updates.isEmpty)
        updates.gone(anna, from: second, lastSeen: minute)
        #expect(!updates.isOnline(anna))
        let rest = [updates.popFirst()?.user, updates.popFirst()?.user, updates.popFirst()?.user]
        #expect(rest == [ben, anna, nil] && updates.isEmpty)
    }

    @Test("a departure ends after its time, in all conversations, unless the user comes back")
    func departures() {
        func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds * 1e9)) }
        var departures = Departures()
        depart(anna, [first, second], until: time(5), &departures)
        depart(ben, [first], until: time(6), &departures)
        #expect(
            departures.users(in: first).map(\.user) == [anna, ben] && departures.users(in: second).map(\.user) == [anna]
        )
        let early = departures.takeEnded(at: time(4.9))
        #expect(early.isEmpty)
        let back = [departures.remove(ben)?.conversations, departures.remove(ben)?.conversations]
        #expect(back == [[first], nil])
        #expect(departures.users(in: first).map(\.user) == [anna], "a user who is back departs from nowhere, at once")
        let ended = departures.takeEnded(at: time(9))
        #expect(ended.map(\.user) == [anna] && ended[0].conversations == [first, second])
        for conversation in ended[0].conversations {
            departures.leave(conversation, ended[0])
            departures.end(anna, conversation, lastSeen: minute)
        }
        #expect(departures.isEmpty && departures.users(in: first).isEmpty)
        let announced = [departures.takeEnded(in: first), departures.takeEnded(in: first)]
        #expect(announced == [[PresenceList.Departure(anna, lastSeen: minute)], []])
    }

    private func depart(
        _ user: UserID, _ conversations: [ConversationID], until ends: MonotonicTime, _ departures: inout Departures
    ) {
        let ticket = departures.begin(user, lastSeen: minute, until: ends)!
        for conversation in conversations { _ = departures.add(conversation, to: ticket, of: user) }
    }

    @Test("a user who returns during their departure leaves no more conversations")
    func backInBetween() {
        var departures = Departures()
        let ticket = departures.begin(anna, lastSeen: minute, until: MonotonicTime(nanoseconds: 5))!
        let before = departures.add(first, to: ticket, of: anna)
        _ = departures.remove(anna)
        let after = departures.add(second, to: ticket, of: anna)
        #expect(before && !after && departures.users(in: second).isEmpty)
    }

    @Test("beyond its capacity a departure ends at once")
    func capacity() {
        var departures = Departures()
        for number in 0..<Departures.capacity {
            depart(UserID("user\(number)")!, [first], until: MonotonicTime(nanoseconds: 1), &departures)
        }
        let ticket = departures.begin(anna, lastSeen: minute, until: MonotonicTime(nanoseconds: 1))
        #expect(ticket == nil)
    }

    // MARK: State

    private final class Client {}
    private typealias State = PresenceState<Client, Int>

    private let begins = State.Work(beginsRound: true)
    private let nothing = State.Work()

    private func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds * 1e9)) }

    /// What a step does, in short.
    private func text(_ step: State.Step?) -> String {
        switch step {
        case .publish(let conversation): "list \(conversation.uuid.low)"
        case .announce(let announcement, let conversation, let isThere):
            "\(announcement.user) \(isThere ? "in" : "gone from") \(conversation.uuid.low)"
        case nil: "end"
        }
    }

    @Test("what changes in a moment is one round; what changes during the round is the next one's")
    func rounds() {
        var state = State(timing: PresenceTiming())
        #expect(state.listChanged(first) == begins)
        #expect(state.listChanged(first) == nothing)
        #expect(state.appeared(anna, in: first) == nothing)
        #expect(state.beginRound(at: time(0))?.isEmpty == true)
        #expect(state.listChanged(second) == begins, "the round has begun, so this is for another one")
        #expect(state.beginRound(at: time(0))?.count == nil, "rounds do not overlap")
        #expect(text(state.nextStep()) == "list 1")
        #expect(state.gone(anna, from: first) == begins)
        #expect(text(state.nextStep()) == "anna gone from 1", "the user is announced as they are by then")
        #expect(text(state.nextStep()) == "end")
        #expect(state.endRound().work == nothing, "the next round is due already")
        #expect(state.beginRound(at: time(0))?.count == 0)
        #expect(text(state.nextStep()) == "list 2")
        #expect(text(state.nextStep()) == "end")
        #expect(state.endRound().work == nothing, "there is nothing left")
    }

    @Test("a user is announced in every conversation where they changed, under one number")
    func announcements() {
        var state = State(timing: PresenceTiming())
        _ = state.appeared(anna, in: first)
        _ = state.gone(anna, from: second)
        _ = state.appeared(ben, in: second)
        _ = state.beginRound(at: time(0))
        var numbers: [Int] = [], texts: [String] = []
        while let step = state.nextStep() {
            guard case .announce(let announcement, _, _) = step else { continue }
            numbers.append(announcement.number)
            texts.append(text(step))
            #expect(announcement.isOnline)
        }
        #expect(texts == ["anna in 1", "anna gone from 2", "ben in 2"] && numbers == [1, 1, 2])
        #expect(state.onlineCount == 2 && state.conversations(of: ben) == [second])
    }

    @Test(
        "sessions that come during a round are sent who is online at its end, and a new round follows for a departure")
    func newcomers() throws {
        var state = State(timing: PresenceTiming())
        let client = Client()
        #expect(state.add(newcomer: client, in: [7]) == begins)
        let (ticket, _) = state.beginDeparture(of: anna, lastSeen: minute, at: time(0))
        _ = state.left(first, anna, isLast: true, ticket, lastSeen: minute)
        _ = state.beginRound(at: time(1))
        while state.nextStep() != nil {}
        let end = state.endRound()
        #expect(end.newcomers.count == 1 && end.newcomers[0].session === client && end.newcomers[0].rooms == [7])
        #expect(end.work == begins && state.departing(from: first).map(\.user) == [anna])
        let departures = state.beginRound(at: time(6))
        let over = try #require(departures)
        #expect(over.map(\.user) == [anna])
        _ = state.departed(from: first, over[0])
        #expect(state.departing(from: first).isEmpty)
        #expect(state.takeDeparted(from: first) == [PresenceList.Departure(anna, lastSeen: minute)])
    }

    @Test("a user who is gone from a conversation without a departure is in the next list as gone")
    func goneAtOnce() {
        var state = State(timing: PresenceTiming())
        _ = state.left(first, anna, isLast: true, nil, lastSeen: minute)
        _ = state.left(second, anna, isLast: false, nil, lastSeen: minute)
        #expect(state.takeDeparted(from: first).map(\.user) == [anna])
        #expect(state.takeDeparted(from: second) == [], "another session of theirs is still there")
    }

    @Test("the first change of a setting applies at once, the last of those within its time afterwards")
    func decisions() {
        var state = State(timing: PresenceTiming())
        let client = Client()
        #expect(state.decide(client, shows: true, isShown: true) == .waits, "nothing changes")
        #expect(state.decisionIsOver(client) == nil)
        #expect(state.decide(client, shows: false, isShown: true) == .applies)
        #expect(state.decide(client, shows: true, isShown: false) == .waits)
        #expect(state.decide(client, shows: false, isShown: false) == .waits)
        #expect(state.decide(Client(), shows: true, isShown: false) == .applies, "another session has its own time")
        #expect(state.decisionIsOver(client) == false)
        #expect(state.decide(client, shows: true, isShown: false) == .applies)
    }

    @Test("a process that was silent for too long is lost once, and is new when it is heard again")
    func processes() {
        var state = State(timing: PresenceTiming())
        #expect(state.heard(from: there, at: time(0)) == true)
        #expect(state.heard(from: there, at: time(5)) == false)
        #expect(state.beat(at: time(14)).lost == [])
        #expect(state.beat(at: time(15)).lost == [there])
        #expect(state.beat(at: time(16)).lost == [])
        #expect(state.heard(from: there, at: time(17)) == true)
    }

    @Test("within the time of a refresh, the lists of every slot are published again once")
    func refresh() {
        let timing = PresenceTiming()
        var state = State(timing: timing)
        let beats = Int(timing.refresh / timing.heartbeat)
        let slots = (0..<beats).flatMap { _ in state.beat(at: time(0)).slots }
        #expect(slots.count == Slot.count && Set(slots) == Set(Slot.all))
    }

    @Test("a congested session gets the latest frame of each user when it has room, and none overtakes those that wait")
    func outbox() {
        var outbox = PresenceOutbox<Client>()
        let client = Client(), other = Client()
        let (old, new) = (ServerFrame.presence(anna), ServerFrame.presence(anna, lastSeen: minute))
        #expect(outbox.add(old, about: anna, for: client, isCongested: false) == .send)
        #expect(outbox.add(old, about: anna, for: client, isCongested: true) == .waits)
        #expect(outbox.add(new, about: anna, for: client, isCongested: false) == .drops)
        #expect(outbox.add(old, about: ben, for: other, isCongested: false) == .send)
        #expect(outbox.sessions.count == 1 && outbox.sessions[0] === client)
        #expect(outbox.take(for: client).count == 1)
        #expect(outbox.isEmpty)
        #expect(outbox.take(for: client).count == 0)
    }

    @Test("frames about more users than a session may have waiting are dropped")
    func fullOutbox() {
        var outbox = PresenceOutbox<Client>()
        let client = Client()
        let frame = ServerFrame.presence(anna)
        let first = (0..<4_096).map { outbox.add(frame, about: UserID("user\($0)")!, for: client, isCongested: true) }
        #expect(first.allSatisfy { $0 == .waits })
        #expect(outbox.add(frame, about: anna, for: client, isCongested: true) == .drops)
        #expect(outbox.take(for: client).count == 4_096)
    }
}
