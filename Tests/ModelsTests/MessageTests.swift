import Foundation
import Models
import Testing

@Suite struct MessageTests {
    private static let created = Timestamp(milliseconds: 1_795_258_020_123)
    private static let anna = UserID("anna")!
    private static let ben = UserID("ben")!

    private func message(_ kind: MessageKind = .text, deletedAt: Timestamp? = nil) -> Message {
        Message(
            id: MessageID(UUIDBytes(high: 1, low: 2)), conversationId: ConversationID(UUIDBytes(high: 3, low: 4)),
            seq: 2,
            changeSeq: 2, senderId: Self.anna, kind: kind, text: deletedAt == nil ? "Nine?" : nil, sentAt: Self.created,
            createdAt: Self.created, deletedAt: deletedAt)
    }

    private func after(milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: Self.created.milliseconds + milliseconds)
    }

    @Test("its sender may edit a message for 15 minutes, to the millisecond")
    func window() {
        #expect(message().isEditable(by: Self.anna, at: after(milliseconds: 15 * 60_000)))
        #expect(!message().isEditable(by: Self.anna, at: after(milliseconds: 15 * 60_000 + 1)))
        #expect(message(.reply).isEditable(by: Self.anna, at: Self.created))
    }

    @Test("nobody edits another's, a deleted or a system message")
    func others() {
        #expect(!message().isEditable(by: Self.ben, at: Self.created))
        #expect(!message(deletedAt: Self.created).isEditable(by: Self.anna, at: Self.created))
        #expect(!message(.system).isEditable(by: Self.anna, at: Self.created))
    }

    @Test("what was deleted for everyone says so, and its text is null in JSON")
    func tombstone() throws {
        let tombstone = message(deletedAt: Self.created)
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(tombstone)) as! [String: Any]
        #expect(json["text"] is NSNull && json["deletedForEveryone"] as? Bool == true)
        #expect(!tombstone.isReplyable && message().isReplyable && !message(.system).isReplyable)
        let text = try JSONSerialization.jsonObject(with: JSONEncoder().encode(message())) as! [String: Any]
        #expect(text["text"] as? String == "Nine?" && text["deletedForEveryone"] == nil)
    }

    @Test("a window shows both its ends, and the present one all that comes")
    func windows() throws {
        let conversation = Conversation(
            id: ConversationID(UUIDBytes(high: 3, low: 4)), kind: .group, createdAt: Self.created, lastSeq: 20,
            lastActivityAt: Self.created, memberCount: 3, role: .member,
            windows: [Window(from: 3, to: 5), Window(from: 9)])
        #expect((1...10).filter { conversation.shows($0) } == [3, 4, 5, 9, 10])
        #expect(conversation.isMember)
        var former = conversation
        former.windows[1].to = 20
        #expect(!former.isMember && former.shows(20) && !former.shows(21))
    }

    @Test("what a user decides about a setting is true, false or null")
    func settings() throws {
        let json = try JSONEncoder().encode(RequestBody.NewSettings(readReceipts: .byDefault, presence: .off))
        #expect(canonical(json) == #"{"presence":false,"readReceipts":null}"#)
        #expect(try canonical(JSONEncoder().encode(RequestBody.NewSettings(presence: .on))) == #"{"presence":true}"#)
    }
}
