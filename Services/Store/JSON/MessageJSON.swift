import Bytes
import JSON
import Models

/// Everything of a message that is the same for all of its readers. Texts lie where they came from: in a frame of the
/// bus or in a row of the database.
struct MessageFields {
    enum Kind: Int16, CaseIterable {
        case text = 1
        case reply = 2
        case system = 3

        var name: StaticString {
            switch self {
            case .text: "text"
            case .reply: "reply"
            case .system: "system"
            }
        }
    }

    /// The message that a reply answers. Its position never changes, so it is kept with the reply.
    struct Parent {
        var id: MessageID
        var seq: Int64
    }

    var conversation: ConversationID
    var id: MessageID
    var seq: Int64
    var changeSeq: Int64
    var sender: UserID
    var kind: Kind
    /// Nil when deleted for everyone.
    var text: UnsafeRawBufferPointer?
    var parent: Parent?
    /// User names with commas between them.
    var mentions: UnsafeRawBufferPointer
    var sentAt: Timestamp
    var createdAt: Timestamp
    var editedAt: Timestamp?
    var deletedAt: Timestamp?
    /// JSON from the database; nil without tapbacks.
    var tapbacks: UnsafeRawBufferPointer?
    var tapbackCounts: UnsafeRawBufferPointer?
    /// JSON from the database: what a system message shows.
    var event: UnsafeRawBufferPointer?
}

/// What the parent of a reply looks like to one reader.
enum ParentView {
    case visible(sender: UserID, text: UnsafeRawBufferPointer)
    /// Deleted for everyone, or not this reader's to see.
    case unavailable
}

/// How far the recipients of a message are. Only its sender is told.
struct Receipts: Equatable {
    var recipients: Int
    var delivered: Int
    var read: Int
    /// When the latest of those who have it got it, and read it.
    var lastDeliveredAt: Timestamp?
    var lastReadAt: Timestamp?

    var isDelivered: Bool { recipients > 0 && delivered == recipients }
    var isRead: Bool { recipients > 0 && read == recipients }
    var status: StaticString { isRead ? "read" : isDelivered ? "delivered" : "sent" }
}

// The `Message` of api.md is written in three parts, because a new message is encoded once for its change, which all
// members get, and once for its sender's answer, and only the second and third part differ.
extension ByteBuffer {
    /// As it stands in a change: a bare reference to the parent, nothing that depends on the reader.
    mutating func append(change message: MessageFields) {
        append(head: message)
        if let parent = message.parent { append(bareReferenceTo: parent) }
        append(tail: message)
        endObject()
    }

    /// As one reader sees it in an answer. `receipts` is there for the sender only.
    mutating func append(_ message: MessageFields, parent: ParentView, receipts: Receipts?) {
        append(head: message)
        if let reference = message.parent { append(referenceTo: reference, as: parent) }
        append(tail: message)
        if let receipts { append(receipts) }
        endObject()
    }

    private mutating func append(head message: MessageFields) {
        beginObject()
        append(key: "id", json: message.id)
        append(key: "conversationId", json: message.conversation)
        append(key: "seq", json: message.seq)
        append(key: "changeSeq", json: message.changeSeq)
        append(key: "senderId", json: message.sender)
        append(key: "kind", json: message.kind.name)
        append(key: "text")
        if let text = message.text { appendJSON(utf8: text) } else { appendNull() }
        append(key: "sentAt", json: message.sentAt)
        append(key: "createdAt", json: message.createdAt)
        append(key: "editedAt", json: message.editedAt)
        if let deletedAt = message.deletedAt {
            append(key: "deletedForEveryone", json: true)
            append(key: "deletedAt", json: deletedAt)
        }
    }

    private mutating func append(tail message: MessageFields) {
        if let event = message.event { append(key: "event", encoded: event) }
        if let tapbacks = message.tapbacks, let counts = message.tapbackCounts {
            append(key: "tapbacks", encoded: tapbacks)
            append(key: "tapbackCounts", encoded: counts)
            append(#","mentions":["# as StaticString)
        } else {
            append(#","tapbacks":[],"tapbackCounts":{},"mentions":["# as StaticString)
        }
        for name in message.mentions.split(separator: UInt8(ascii: ",")) {
            beginElement()
            appendJSON(utf8: UnsafeRawBufferPointer(rebasing: name))
        }
        endArray()
    }

    private mutating func append(bareReferenceTo parent: MessageFields.Parent) {
        append(key: "replyTo")
        beginObject()
        append(key: "messageId", json: parent.id)
        append(key: "seq", json: parent.seq)
        endObject()
    }

    private mutating func append(referenceTo parent: MessageFields.Parent, as view: ParentView) {
        append(key: "replyTo")
        beginObject()
        append(key: "messageId", json: parent.id)
        switch view {
        case .unavailable:
            append(key: "unavailable", json: true)
        case .visible(let sender, let text):
            append(key: "seq", json: parent.seq)
            append(key: "senderId", json: sender)
            append(key: "preview", json: Preview.of(text))
        }
        endObject()
    }

    private mutating func append(_ receipts: Receipts) {
        append(key: "status", json: receipts.status)
        if receipts.isDelivered { append(key: "dateDelivered", json: receipts.lastDeliveredAt) }
        if receipts.isRead { append(key: "dateRead", json: receipts.lastReadAt) }
        append(key: "deliveredCount", json: receipts.delivered)
        append(key: "readCount", json: receipts.read)
        append(key: "recipientCount", json: receipts.recipients)
    }
}

/// The start of a parent's text, as a reply shows it.
enum Preview {
    static let graphemeClusters = 50
    /// Code points that are looked at: a cluster may have any number, and a text may be one.
    static let codePoints = 1_024

    /// The first 50 extended grapheme clusters (UAX #29), so that no emoji or accent is cut in two.
    static func of(_ text: UnsafeRawBufferPointer) -> String {
        String(String(String(decoding: text, as: UTF8.self).unicodeScalars.prefix(codePoints)).prefix(graphemeClusters))
    }
}
