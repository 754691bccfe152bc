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
    @Test("somebody appears with the first process that shows them, and is gone with the last")
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

    @Test("everything about a user is told at once, and the last word counts")
    func news() {
        var news = PresenceNews()
        news.appeared(anna, in: first)
        news.appeared(ben, in: first)
        news.appeared(anna, in: second)
        news.gone(anna, from: first, lastSeen: minute)
        let (user, change) = news.take(1)[0]
        #expect(user == anna && change.appearedIn == [second] && change.goneFrom == [first])
        #expect(news.isOnline(anna) && news.isOnline(ben) && !news.isEmpty)
        news.gone(anna, from: second, lastSeen: minute)
        #expect(!news.isOnline(anna))
        #expect(news.take(9).map(\.user) == [ben, anna] && news.isEmpty)
    }

    @Test("a departure ends after its time, in all conversations, unless the user comes back")
    func departures() {
        func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds * 1e9)) }
        var departures = Departures()
        departures.add(anna, [first, second], lastSeen: minute, until: time(5))
        departures.add(ben, [first], lastSeen: minute, until: time(6))
        #expect(departures.users(in: first) == [anna, ben] && departures.users(in: second) == [anna])
        #expect(departures.takeEnded(at: time(4.9)).isEmpty)
        #expect(departures.remove(ben) == [first] && departures.remove(ben).isEmpty)
        #expect(departures.takeEnded(at: time(9)) == [first, second])
        #expect(departures.isEmpty && departures.users(in: first).isEmpty)
        #expect(departures.takeEnded(in: first) == [PresenceList.Departure(anna, lastSeen: minute)])
        #expect(departures.takeEnded(in: first).isEmpty)
    }

    @Test("beyond its capacity a departure ends at once")
    func capacity() {
        var departures = Departures()
        for number in 0...Departures.capacity {
            departures.add(UserID("user\(number)")!, [first], lastSeen: minute, until: MonotonicTime(nanoseconds: 1))
        }
        #expect(departures.takeEnded(in: first).map(\.user.name) == ["user\(Departures.capacity)"])
    }
}
