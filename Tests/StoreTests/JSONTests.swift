import Bytes
import Models
import Testing
import Wire

@testable import Store

private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-0000000000c5")!)
private let time = Timestamp(milliseconds: 1_700_000_000_123)

private func json(_ body: (inout ByteBuffer) -> Void) -> String {
    var buffer = ByteBuffer()
    body(&buffer)
    return String(decoding: buffer.bytes, as: UTF8.self)
}

private func withReply(_ body: (MessageFields) -> Void) {
    Array("he said \"hé\"".utf8).withUnsafeBytes { text in
        Array("bob,carol".utf8).withUnsafeBytes { mentions in
            body(
                MessageFields(
                    conversation: conversation, id: MessageID(UUIDBytes("01890000-0000-7000-8000-000000000001")!),
                    seq: 7,
                    changeSeq: 7, sender: UserID("alice")!, kind: .reply, text: text,
                    parent: MessageFields.Parent(
                        id: MessageID(UUIDBytes("01890000-0000-7000-8000-000000000002")!), seq: 3),
                    mentions: mentions, sentAt: time, createdAt: time))
        }
    }
}

private let start =
    #"{"id":"01890000-0000-7000-8000-000000000001","conversationId":"01890000-0000-7000-8000-0000000000c5","#
    + #""seq":7,"changeSeq":7,"senderId":"alice","kind":"reply","text":"he said \"hé\"","#
    + #""sentAt":"2023-11-14T22:13:20.123Z","createdAt":"2023-11-14T22:13:20.123Z","#
private let end = #","tapbacks":[],"tapbackCounts":{},"mentions":["bob","carol"]"#

@Suite struct MessageJSONTests {
    @Test(
        "whom a message mentions is told by name, and everybody by a field of its own",
        arguments: [
            ("", #""mentions":[]}"#), ("bob", #""mentions":["bob"]}"#), ("*", #""mentions":[],"mentionsAll":true}"#),
            ("*,bob,carol", #""mentions":["bob","carol"],"mentionsAll":true}"#),
        ])
    func mentions(stored: String, told: String) {
        withReply { message in
            Array(stored.utf8).withUnsafeBytes { mentions in
                var message = message
                message.mentions = mentions
                var buffer = ByteBuffer()
                buffer.append(change: message)
                #expect(String(decoding: buffer.bytes, as: UTF8.self).hasSuffix(told))
            }
        }
    }

    @Test("a change refers to the parent barely and says nothing that depends on the reader")
    func change() {
        withReply { message in
            #expect(
                json { $0.append(change: message) } == start
                    + #""replyTo":{"messageId":"01890000-0000-7000-8000-000000000002","seq":3}"# + end + "}")
        }
    }

    @Test("the sender's answer has a preview of the parent and how far the recipients are")
    func answer() {
        withReply { message in
            let parent = Array("a parent".utf8)
            parent.withUnsafeBytes { parent in
                #expect(
                    json {
                        $0.append(
                            message, parent: .visible(sender: UserID("bob")!, text: parent),
                            receipts: Receipts(recipients: 2, delivered: 2, read: 1))
                    } == start
                        + #""replyTo":{"messageId":"01890000-0000-7000-8000-000000000002","seq":3,"senderId":"bob","preview":"a parent"}"#
                        + end + #","status":"delivered","deliveredCount":2,"readCount":1,"recipientCount":2}"#)
            }
        }
    }

    @Test("a parent that the reader may not see is unavailable, and nothing else is said of it")
    func unavailable() {
        withReply { message in
            #expect(
                json { $0.append(message, parent: .unavailable, receipts: nil) } == start
                    + #""replyTo":{"messageId":"01890000-0000-7000-8000-000000000002","unavailable":true}"# + end + "}")
        }
    }

    @Test("a preview is 50 grapheme clusters, not bytes or scalars")
    func preview() {
        let family = "👨‍👩‍👧‍👦"
        Array(String(repeating: family, count: 60).utf8).withUnsafeBytes { text in
            #expect(Preview.of(text) == String(repeating: family, count: 50))
        }
    }

    @Test(
        "the status is that of the last recipient",
        arguments: [
            (Receipts(recipients: 0, delivered: 0, read: 0), "sent"),
            (Receipts(recipients: 2, delivered: 1, read: 1), "sent"),
            (Receipts(recipients: 2, delivered: 2, read: 1), "delivered"),
            (Receipts(recipients: 2, delivered: 2, read: 2), "read"),
        ])
    func status(receipts: Receipts, status: String) { #expect(receipts.status.name.description == status) }
}

@Suite struct ReceiptCountsTests {
    @Test("spans are summed over the messages they cover, an end before the first is none")
    func sum() {
        // Three messages and three members. They have received three, two and one, and have read one, none and none.
        // The member with two was away for the second message.
        let spans = [
            ReceiptCounts.Span(first: 0, memberEnd: 3, deliveredEnd: 0, readEnd: 0, count: 3),
            ReceiptCounts.Span(first: 0, memberEnd: 0, deliveredEnd: 3, readEnd: 1, count: 1),
            ReceiptCounts.Span(first: 0, memberEnd: 0, deliveredEnd: 2, readEnd: 0, count: 1),
            ReceiptCounts.Span(first: 0, memberEnd: 0, deliveredEnd: 1, readEnd: 0, count: 1),
            ReceiptCounts.Span(first: 1, memberEnd: 2, deliveredEnd: 2, readEnd: 0, count: -1),
        ]
        #expect(
            ReceiptCounts.sum(spans, messageCount: 3) == [
                Receipts(recipients: 3, delivered: 3, read: 1), Receipts(recipients: 2, delivered: 1, read: 0),
                Receipts(recipients: 3, delivered: 1, read: 0),
            ])
    }
}
