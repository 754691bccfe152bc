import Bytes
import JSON
import Models
import Wire

/// The parts of a message that are the same for all readers. Texts stay where they came from, in a frame of the bus or
/// in a row of the database.
struct MessageFields {
    /// The message that a reply refers to. Its position never changes, so it is stored with the reply.
    struct Parent {
        var id: MessageID
        var seq: Int64
    }

    /// Where and when it was pinned, and by whom.
    struct Pin {
        var seq: Int64
        var user: UserID
        var at: Timestamp
    }

    /// What a message carries, as `media` described it.
    enum Attachments {
        /// A JSON array, from the database.
        case stored(UnsafeRawBufferPointer)
        case sent(AttachmentList)
    }

    /// The options of a poll, and how it stands.
    enum Poll {
        /// A JSON object, from the database.
        case stored(UnsafeRawBufferPointer)
        /// Nobody has voted yet.
        case sent(NewPoll)
    }

    var conversation: ConversationID
    var id: MessageID
    var seq: Int64
    var changeSeq: Int64
    var sender: UserID
    var kind: MessageKind
    /// Nil when deleted for everyone. Empty beside attachments without a text. Of a sealed message what is sealed, in base64.
    var text: UnsafeRawBufferPointer?
    var parent: Parent?
    /// As `Mentions` has them.
    var mentions: UnsafeRawBufferPointer
    var attachments: Attachments?
    var poll: Poll?
    /// The application's own JSON.
    var extra: UnsafeRawBufferPointer?
    var pin: Pin?
    /// Who wrote it, of a forwarded message that shows it.
    var origin: Forwarded?
    var sentAt: Timestamp
    var createdAt: Timestamp
    var editedAt: Timestamp?
    var deletedAt: Timestamp?
    var isExpired = false
    /// JSON from the database. Nil without tapbacks.
    var tapbacks: UnsafeRawBufferPointer?
    var tapbackCounts: UnsafeRawBufferPointer?
    /// JSON from the database: the content of a system message.
    var event: UnsafeRawBufferPointer?
}

/// The parent of a reply as one reader sees it.
enum ParentView {
    case visible(sender: UserID, text: UnsafeRawBufferPointer)
    /// Deleted for everyone, or not visible to this reader.
    case unavailable
}

/// The delivery progress of a message over its recipients. Only the sender sees it.
struct Receipts: Equatable {
    var recipients: Int
    var delivered: Int
    var read: Int
    /// The latest times at which a recipient received it and read it.
    var lastDeliveredAt: Timestamp?
    var lastReadAt: Timestamp?

    var isDelivered: Bool { recipients > 0 && delivered == recipients }
    var isRead: Bool { recipients > 0 && read == recipients }
    var status: DeliveryStatus { isRead ? .read : isDelivered ? .delivered : .sent }
}

// The `Message` of api.md is written in three parts. A new message is encoded once for its change, which all members
// get, and once for the response to its sender. Only the second and third part differ.
extension ByteBuffer {
    /// Appends it for a change: a bare reference to the parent, nothing that depends on the reader.
    mutating func append(change message: MessageFields) {
        append(head: message)
        if let parent = message.parent { append(bareReferenceTo: parent) }
        append(tail: message, voter: nil)
        endObject()
    }

    /// Appends it for a response to one reader. `receipts` is set for the sender only.
    mutating func append(_ message: MessageFields, parent: ParentView, receipts: Receipts?) {
        append(head: message)
        if let reference = message.parent { append(referenceTo: reference, as: parent) }
        append(tail: message, voter: message.sender)
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
        let isSealed = message.kind == .sealed
        if let text = message.text, !text.isEmpty, !isSealed { appendJSON(utf8: text) } else { appendNull() }
        if isSealed, let sealed = message.text { append(key: "sealed", utf8: sealed) }
        append(key: "sentAt", json: message.sentAt)
        append(key: "createdAt", json: message.createdAt)
        append(key: "editedAt", json: message.editedAt)
        if let deletedAt = message.deletedAt {
            append(key: "deletedForEveryone", json: true)
            append(key: "deletedAt", json: deletedAt)
            if message.isExpired { append(key: "expired", json: true) }
        }
    }

    /// - Parameter voter: whose vote is shown in a poll that was just sent.
    private mutating func append(tail message: MessageFields, voter: UserID?) {
        if let event = message.event { append(key: "event", encoded: event) }
        if let tapbacks = message.tapbacks, let counts = message.tapbackCounts {
            append(key: "tapbacks", encoded: tapbacks)
            append(key: "tapbackCounts", encoded: counts)
            append(#","mentions":["# as StaticString)
        } else {
            append(#","tapbacks":[],"tapbackCounts":{},"mentions":["# as StaticString)
        }
        let (names, mentionsAll) = Mentions.split(message.mentions)
        for name in names.split(separator: UInt8(ascii: ",")) {
            beginElement()
            appendJSON(utf8: UnsafeRawBufferPointer(rebasing: name))
        }
        endArray()
        if mentionsAll { append(key: "mentionsAll", json: true) }
        switch message.attachments {
        case .stored(let json): append(key: "attachments", encoded: json)
        case .sent(let list):
            append(key: "attachments")
            list.writeJSON(to: &self)
        case nil: break
        }
        switch message.poll {
        case .stored(let json): append(key: "poll", encoded: json)
        case .sent(let poll): append(poll, voter: voter)
        case nil: break
        }
        if let extra = message.extra { append(key: "extra", encoded: extra) }
        if let origin = message.origin {
            append(key: "forwarded")
            beginObject()
            append(key: "userId", json: origin.userId)
            append(key: "sentAt", json: origin.sentAt)
            endObject()
        }
        if let pin = message.pin {
            append(key: "pinned")
            beginObject()
            append(key: "seq", json: pin.seq)
            append(key: "userId", json: pin.user)
            append(key: "at", json: pin.at)
            endObject()
        }
    }

    private mutating func append(_ poll: NewPoll, voter: UserID?) {
        append(key: "poll")
        beginObject()
        append(key: "options")
        beginArray()
        for option in poll.options {
            beginElement()
            beginObject()
            append(key: "text", json: option)
            append(key: "votes", json: 0)
            endObject()
        }
        endArray()
        append(key: "multiple", json: poll.isMultiple)
        append(key: "voters", json: 0)
        if let voter {
            append(key: "vote")
            beginObject()
            append(key: "userId", json: voter)
            append(key: "options")
            beginArray()
            endArray()
            endObject()
        }
        endObject()
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
        append(key: "status", json: receipts.status.name)
        if receipts.isDelivered { append(key: "dateDelivered", json: receipts.lastDeliveredAt) }
        if receipts.isRead { append(key: "dateRead", json: receipts.lastReadAt) }
        append(key: "deliveredCount", json: receipts.delivered)
        append(key: "readCount", json: receipts.read)
        append(key: "recipientCount", json: receipts.recipients)
    }
}

/// The start of a parent's text that a reply shows.
enum Preview {
    static let graphemeClusters = 50
    /// The number of code points examined. A cluster may have any number, and a text may be one cluster.
    static let codePoints = 1_024

    /// Returns the first 50 extended grapheme clusters (UAX #29), so no emoji or accent is cut in two.
    static func of(_ text: UnsafeRawBufferPointer) -> String {
        String(String(String(decoding: text, as: UTF8.self).unicodeScalars.prefix(codePoints)).prefix(graphemeClusters))
    }
}
