import Bytes
import JSON
import Models
import Postgres
import Wire

/// A scheduled message as its author sees it.
struct ScheduledFields {
    var conversation: ConversationID
    var id: MessageID
    var useq: Int64
    var at: Timestamp
    var text: String
    var replyTo: MessageID?
    /// As `Mentions` has them.
    var mentions = ""
    /// A JSON object; empty for none.
    var extra = ""
    var failure: Failure?

    struct Failure {
        var code: Problem.Code
        var at: Timestamp

        /// Of a code that a later version has kept, too.
        init(_ code: Int16, at: Timestamp) {
            self.code = Problem.Code(rawValue: UInt8(clamping: code)) ?? .forbidden
            self.at = at
        }
    }
}

extension ByteBuffer {
    /// Appends the `ScheduledMessage` of the contract.
    mutating func append(_ message: ScheduledFields) {
        beginObject()
        append(key: "conversationId", json: message.conversation)
        append(key: "id", json: message.id)
        append(key: "useq", json: message.useq)
        append(key: "at", json: message.at)
        append(key: "text", json: message.text)
        append(key: "replyTo", json: message.replyTo)
        append(mentions: message.mentions)
        if !message.extra.isEmpty {
            var extra = message.extra
            extra.withUTF8 { append(key: "extra", encoded: UnsafeRawBufferPointer($0)) }
        }
        if let failure = message.failure {
            append(key: "failure")
            beginObject()
            append(key: "code", json: failure.code.name)
            append(key: "at", json: failure.at)
            endObject()
        }
        endObject()
    }

    private mutating func append(mentions: String) {
        var mentions = mentions
        append(key: "mentions")
        beginArray()
        mentions.withUTF8 { bytes in
            let (names, all) = Mentions.split(UnsafeRawBufferPointer(bytes))
            for name in names.split(separator: UInt8(ascii: ",")) {
                beginElement()
                appendJSON(utf8: UnsafeRawBufferPointer(rebasing: name))
            }
            endArray()
            if all { append(key: "mentionsAll", json: true) }
        }
    }
}
