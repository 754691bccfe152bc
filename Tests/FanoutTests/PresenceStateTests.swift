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
        #expect(departures.users(in: first) == [anna, ben] && departures.users(in: second) == [anna])
        let early = departures.takeEnded(at: time(4.9))
        #expect(early.isEmpty)
        let back = [departures.remove(ben)?.conversations, departures.remove(ben)?.conversations]
        #expect(back == [[first], nil])
        #expect(departures.users(in: first) == [anna], "a user who is back departs from nowhere, at once")
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
}
