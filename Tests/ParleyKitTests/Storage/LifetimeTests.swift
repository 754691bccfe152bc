import Models
import Testing

@testable import ParleyStorage

/// Messages that disappear, in a copy.
@Suite struct LifetimeTests {
    private let hour = MessageLifetime(seconds: 3_600, sinceSeq: 11)

    private func change(
        _ seq: Int64, _ kind: ChangeKind, lifetime: MessageLifetime? = nil, message: Message? = nil,
        user: UserID? = nil, at: Timestamp? = nil
    ) -> SyncWrite {
        .change(
            Change(
                conversationId: talk, seq: seq, kind: kind, at: at ?? time(seq), actorId: ben, message: message,
                userId: user, role: user == nil ? nil : .member, messageLifetime: lifetime), movesCursor: true)
    }

    private func created(_ seq: Int64, text: String = "Soon gone") -> SyncWrite {
        change(seq, .messageCreated, message: message(seq, text: text))
    }

    private func message(_ seq: Int64, text: String?) -> Message {
        Message(
            id: messageId(UInt64(seq)), conversationId: talk, seq: seq, changeSeq: seq, senderId: ben, kind: .text,
            text: text,
            sentAt: time(seq), createdAt: time(seq))
    }

    private func gone(_ seq: Int64, by changeSeq: Int64, expired: Bool = true) -> Message {
        var message = message(seq, text: nil)
        message.changeSeq = changeSeq
        message.deletedForEveryone = true
        message.deletedAt = time(changeSeq)
        message.expired = expired
        return message
    }

    private func lifetime(in store: LocalStore) throws -> MessageLifetime? {
        try #require(try store.conversation(talk)).messageLifetime
    }

    private func texts(in store: LocalStore) throws -> [String?] {
        try store.rows().filter { $0.message.seq > 10 }.map(\.message.text)
    }

    private func later(_ seq: Int64, seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: time(seq).milliseconds + seconds * 1000)
    }

    @Test("what the server says is kept, in the list as well; a change replaces it, and who has left is not told")
    func told() throws {
        let store = try copy()
        #expect(try lifetime(in: store) == nil && !store.hasLifetimes())
        try store.apply([change(11, .lifetimeChanged, lifetime: hour)])
        #expect(try lifetime(in: store) == hour && store.hasLifetimes())
        #expect(try store.list(limit: 9).rows[0].conversation.messageLifetime == hour)
        #expect(try store.conversations(limit: 9)[0].messageLifetime == hour)
        #expect(try store.storedRanges(of: talk).last?.upperBound == 11, "no message is missing there")
        try store.apply([change(12, .lifetimeChanged)])
        #expect(try lifetime(in: store) == nil && !store.hasLifetimes())
        var head = head(lastSeq: 13)
        head.messageLifetime = MessageLifetime(seconds: 60, sinceSeq: 13)
        try store.apply([.conversation(head, follows: true)])
        #expect(try lifetime(in: store)?.seconds == 60)
        try store.apply([change(14, .memberRemoved, user: anna)])
        #expect(try lifetime(in: store) == nil)
    }

    @Test("what is over is shown nowhere, not even as deleted, and moves nothing in the list; what was deleted is")
    func expired() throws {
        let store = try copy()
        try store.apply([change(11, .lifetimeChanged, lifetime: hour), created(12), created(13, text: "Stays a while")])
        let before = try #require(try store.conversation(talk))
        #expect(before.lastMessage?.seq == 13)
        try store.apply([change(14, .messageDeleted, message: gone(13, by: 14), at: later(14, seconds: 99))])
        let after = try #require(try store.conversation(talk))
        #expect(after.lastActivityAt == before.lastActivityAt && after.lastSeq == 14)
        #expect(after.lastMessage?.seq == 12 && after.unreadCount == before.unreadCount - 1)
        #expect(try texts(in: store) == ["Soon gone"])
        try store.apply([change(15, .messageDeleted, message: gone(12, by: 15, expired: false))])
        #expect(try texts(in: store) == [nil])
    }

    @Test("a device without a connection takes out what is over, with its text, and finds nothing else")
    func alone() throws {
        let store = try copy()
        try store.apply([created(11, text: "From before"), change(12, .lifetimeChanged, lifetime: hourSince(12))])
        try store.apply([created(13), created(14)])
        let unread = try #require(try store.conversation(talk)).unreadCount
        #expect(try !store.expireMessages(at: later(13, seconds: 3_599)))
        try store.note(serverTime: time(13), at: later(13, seconds: 86_400))
        #expect(try !store.expireMessages(at: later(13, seconds: 86_400 + 3_599)), "this clock is a day ahead")
        try store.note(serverTime: time(13), at: time(13))
        #expect(try store.expireMessages(at: later(13, seconds: 3_600)))
        #expect(try texts(in: store) == ["From before", "Soon gone"])
        #expect(try #require(try store.conversation(talk)).unreadCount == unread - 1)
        #expect(try store.message(messageId(13), in: talk)?.text == nil)
        #expect(try store.search("soon").map(\.seq) == [14])
        #expect(try !store.expireMessages(at: later(13, seconds: 3_600)), "once")
        #expect(try store.expireMessages(at: later(99, seconds: 3_600)))
        #expect(try texts(in: store) == ["From before"])
    }

    @Test("from reading on a device keeps what it has until the server tells, and it is told apart everywhere")
    func fromReading() throws {
        let store = try copy()
        let told = MessageLifetime(seconds: 3_600, from: .reading, sinceSeq: 11)
        try store.apply([change(11, .lifetimeChanged, lifetime: told), created(12)])
        #expect(try lifetime(in: store) == told && !store.hasLifetimes())
        #expect(try store.list(limit: 9).rows[0].conversation.messageLifetime == told)
        #expect(try store.conversations(limit: 9)[0].messageLifetime == told)
        #expect(try !store.expireMessages(at: later(12, seconds: 366 * 86_400)))
        #expect(try texts(in: store) == ["Soon gone"])
        var head = head(lastSeq: 13)
        head.messageLifetime = MessageLifetime(seconds: 60, sinceSeq: 13)
        head.messageLifetime?.from = Open("counting")
        try store.apply([.conversation(head, follows: true)])
        #expect(try lifetime(in: store) == head.messageLifetime && !store.hasLifetimes(), "a start of a later version")
        try store.enqueue(.lifetime(60, isFromReading: true))
        #expect(try lifetime(in: store)?.from == .known(.reading))
        try store.apply([change(14, .lifetimeChanged, lifetime: MessageLifetime(seconds: 60, sinceSeq: 14))])
        #expect(try store.hasLifetimes())
    }

    @Test("the server has the last word: where this clock is ahead, what it says of a message brings that back")
    func wrongClock() throws {
        let store = try copy()
        try store.apply([change(11, .lifetimeChanged, lifetime: hour), created(12)])
        #expect(try store.expireMessages(at: later(12, seconds: 7_200)))
        #expect(try texts(in: store) == [])
        try store.apply([created(12)])
        #expect(try texts(in: store) == ["Soon gone"])
        try store.apply([change(13, .messageDeleted, message: gone(12, by: 13))])
        #expect(try texts(in: store) == [])
    }

    @Test("a change of the user's shows at once, the last of several is sent, and a refusal takes it back")
    func changing() throws {
        let store = try copy()
        try store.enqueue(.lifetime(60))
        try store.enqueue(.lifetime(3_600), key: 2)
        #expect(try lifetime(in: store)?.seconds == 3_600 && store.outboxCount() == 1)
        let row = try #require(try store.sendable(limit: 9).first)
        #expect(row.write == .lifetime(3_600))
        try store.refuse(row, problem(.forbidden))
        #expect(try lifetime(in: store) == nil)
    }

    private func hourSince(_ seq: Int64) -> MessageLifetime { MessageLifetime(seconds: 3_600, sinceSeq: seq) }
}
