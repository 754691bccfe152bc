import Models
import Testing

@testable import ParleyStorage

/// Messages that the server keeps no longer, in a copy.
@Suite struct RetentionTests {
    private func change(_ seq: Int64, _ kind: ChangeKind, message: Message? = nil, keptFrom: Int64? = nil) -> SyncWrite
    {
        .change(
            Change(
                conversationId: talk, seq: seq, kind: kind, at: time(seq), actorId: ben, message: message,
                keptFrom: keptFrom), movesCursor: true)
    }

    private func message(_ seq: Int64, replyTo parent: Int64? = nil) -> Message {
        Message(
            id: messageId(UInt64(seq)), conversationId: talk, seq: seq, changeSeq: seq, senderId: ben,
            kind: parent == nil ? .text : .reply, text: "pebble \(seq)", sentAt: time(seq), createdAt: time(seq),
            replyTo: parent.map {
                Reference(messageId: messageId(UInt64($0)), seq: $0, senderId: ben, preview: "pebble")
            })
    }

    private func created(_ seq: Int64, replyTo parent: Int64? = nil) -> SyncWrite {
        change(seq, .messageCreated, message: message(seq, replyTo: parent))
    }

    private func seqs(in store: LocalStore) throws -> [Int64] { try store.rows().map(\.message.seq) }

    @Test("what lies before is gone from every view, does not come back, and moves nothing in the list")
    func trimmed() throws {
        let store = try copy()
        try store.apply([created(11), created(12), created(13, replyTo: 12), created(14, replyTo: 13)])
        let before = try #require(try store.conversation(talk))
        try store.apply([change(15, .historyTrimmed, keptFrom: 13)])
        #expect(try seqs(in: store) == [13, 14])
        #expect(try store.search("pebble").map(\.seq) == [14, 13])
        let after = try #require(try store.conversation(talk))
        #expect(after.unreadCount == 2 && before.unreadCount > 2)
        #expect(after.lastActivityAt == before.lastActivityAt && after.lastSeq == 15)
        #expect(try store.storedRanges(of: talk).last?.upperBound == 15, "no message is missing there")
        let parents = try store.rows().map(\.parent?.preview)
        #expect(parents[0] == nil && parents[1] != nil)
        try store.apply([created(12), .message(message(11))])
        #expect(try seqs(in: store) == [13, 14], "from a response that was on its way")
    }

    @Test("of a message that is deleted for everyone no reply keeps the beginning, whichever of the two comes first")
    func quotes() throws {
        let store = try copy()
        var deleted = message(11)
        (deleted.text, deleted.deletedForEveryone, deleted.deletedAt) = (nil, true, time(20))
        deleted.changeSeq = 15
        func previews() throws -> [String] {
            try store.connection.all("SELECT coalesce(parent_preview, '') FROM messages WHERE seq > 11 ORDER BY seq") {
                $0.text(0)
            }
        }
        try store.apply([created(11), created(12, replyTo: 11), created(13, replyTo: 12)])
        #expect(try previews() == ["pebble", "pebble"])
        try store.apply([.message(deleted)])
        #expect(try previews() == ["", "pebble"])
        try store.apply([created(14, replyTo: 11), .message(message(12, replyTo: 11))])
        #expect(try previews() == ["", "pebble", ""])
        let other = try copy()
        try other.apply([.message(message(12, replyTo: 11)), .message(deleted)])
        let kept: StaticString = "SELECT count(*) FROM messages WHERE parent_preview IS NOT NULL"
        #expect(try other.connection.first(kept) { $0.integer(0) } == 0)
    }

    @Test("who reads no changes is told with the conversation, and an older one takes nothing back")
    func told() throws {
        let store = try copy()
        try store.apply([created(11), created(12)])
        var head = head(lastSeq: 13)
        head.keptFrom = 12
        try store.apply([.conversation(head, follows: true)])
        #expect(try seqs(in: store) == [12])
        head.keptFrom = nil
        head.lastSeq = 12
        try store.apply([.conversation(head, follows: true), .message(message(11))])
        #expect(try seqs(in: store) == [12])
    }

    @Test("the server's count of what is unread loses what is gone, and is asked again where that is not stored")
    func counted() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([.conversation(head(lastSeq: 10, unread: 5, readSeq: 2), follows: true)])
        try store.apply([
            .history(talk, history(6...10, of: 10), place: .newest),
            change(11, .historyTrimmed, keptFrom: 8),
        ])
        #expect(try #require(try store.conversation(talk)).unreadCount <= 3)
        #expect(try store.syncPosition().unknown == [talk])
    }
}
