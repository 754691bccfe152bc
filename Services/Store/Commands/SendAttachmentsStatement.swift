import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

/// Stores a run of one message with attachments, of one poll, or of one that is forwarded.
enum SendAttachmentsStatement {
    struct Input: NamedFields {
        let key: ConversationInput
        let id: Parameter<MessageID>
        let sender: Parameter<UserID>
        let text: Parameter<UnsafeRawBufferPointer>
        let sentAt: Parameter<Timestamp>
        let parent: Parameter<MessageID?>
        let mentions: Parameter<UnsafeRawBufferPointer?>
        let media: Parameter<String?>
        let attachments: Parameter<String?>
        let extra: Parameter<UnsafeRawBufferPointer?>
        let isSealed: Parameter<Bool>
        let options: Parameter<[String]>
        let isMultiple: Parameter<Bool>
        let forwardOf: Parameter<String?>
        let sourceVerdict: Parameter<SendVerdict?>
        let forwardedBy: Parameter<UserID?>
        let forwardedBySlot: Parameter<Slot?>
        let forwardedAt: Parameter<Timestamp?>
        let answersAttachments: Parameter<Bool>
    }

    static let statement = PreparedStatement<Input, SendStatement.Columns>(
        "send_attachments", PackageResources.send_attachments_sql, .store)

    static func add(to batch: inout Batch, _ item: SendItem, answersAttachments: Bool) {
        let message = item.message
        batch.execute(statement) { parameters, input in
            parameters.set(input.key, to: item.conversation)
            parameters.set(input.id, to: message.id)
            parameters.set(input.sender, to: item.sender)
            parameters.set(input.text, to: message.text)
            parameters.set(input.sentAt, to: message.sentAt)
            parameters.set(input.parent, to: message.replyTo)
            parameters.set(input.mentions, to: message.mentions.isEmpty ? nil : message.mentions)
            parameters.set(input.media, to: message.attachments.isEmpty ? nil : message.attachments.media)
            parameters.set(input.attachments, to: message.attachments.isEmpty ? nil : message.attachments.json)
            parameters.set(input.extra, to: message.extra.isEmpty ? nil : message.extra)
            parameters.set(input.isSealed, to: message.isSealed)
            parameters.set(input.options, to: message.poll?.options ?? [])
            parameters.set(input.isMultiple, to: message.poll?.isMultiple ?? false)
            let forward = message.forward
            parameters.set(input.forwardOf, to: forward?.named)
            parameters.set(input.sourceVerdict, to: forward?.problem.map(SendVerdict.init))
            parameters.set(input.forwardedBy, to: forward?.origin?.userId)
            parameters.set(input.forwardedBySlot, to: forward?.origin?.userId.slot)
            parameters.set(input.forwardedAt, to: forward?.origin?.sentAt)
            parameters.set(input.answersAttachments, to: answersAttachments)
        }
    }
}

extension Forward {
    /// What its sender named, in one form.
    fileprivate var named: String { "\(source.head.conversation)/\(source.message)/\(showsOrigin)" }
}

extension SendVerdict {
    fileprivate init(_ problem: Forward.Problem) {
        switch problem {
        case .notFound: self = .sourceIsMissing
        case .notForwardable: self = .notForwardable
        }
    }
}

extension AttachmentList {
    /// The ids of the files with commas between them.
    fileprivate var media: String { ids.map(\.description).joined(separator: ",") }

    /// The JSON array of the descriptors; nil if a file is not there.
    fileprivate var json: String? {
        guard missing == nil else { return nil }
        var buffer = ByteBuffer()
        writeJSON(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Appends the JSON array of the descriptors, each byte for byte.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.beginArray()
        forEach { file in
            buffer.beginElement()
            buffer.append(file.descriptor)
        }
        buffer.endArray()
    }

    /// The first file that cannot be sent, and its place.
    private var missing: (place: Int, verdict: AttachVerdict)? {
        var place = 0
        var first: (Int, AttachVerdict)?
        forEach { file in
            if first == nil, file.verdict != .ready { first = (place, file.verdict) }
            place += 1
        }
        return first
    }

    /// Why a message with these files is refused.
    var problem: Problem {
        guard let missing else { preconditionFailure("a message is refused for a file that is not there") }
        let field = "attachments[\(missing.place)].id"
        return switch missing.verdict {
        case .notReady: Problem(.mediaNotReady, "\(field): the upload is not complete, or still being looked at")
        case .refused: Problem(.mediaNotReady, "\(field): this file was refused")
        case .notFound, .ready: Problem(.notFound, "\(field): you have uploaded no such file, or it is gone")
        }
    }
}
