import Bytes
import JSON
import Models
import Wire

/// What the application is asked about: the messages, or the edit or scheduled message, of one command for a store, which is kept until the answer.
///
/// It is made from the command itself, so that what is asked about is what would be stored.
struct MessageQuestion: HookQuestion {
    private enum Content {
        case messages(NewMessage.Parts)
        case write
    }

    /// An edit, or a message that is to be sent at its time.
    private struct Written {
        let write: Write
        let message: MessageID
        let text: String
        var isSealed = false
        var scheduled: NewScheduled?

        init?(_ command: [UInt8]) {
            let write = command.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                return try? Write(from: &reader)
            }
            guard let write else { return nil }
            self.write = write
            switch write.action {
            case .edit(let message, let text): (self.message, self.text) = (message, text)
            case .editSealed(let message, let sealed): (self.message, text, isSealed) = (message, sealed, true)
            case .schedule(let new): (message, text, scheduled) = (new.id, new.text, new)
            default: return nil
            }
        }
    }

    static let type: StaticString = "message.asked"
    static let author: StaticString = "senderId"
    static let list: StaticString = "messages"
    static let actions: [HookAnswer.Action.Name] = [.allow, .refuse]

    let command: [UInt8]
    let count: Int
    private let content: Content

    /// Nil: the command brings no text of a message.
    init?(_ kind: StoreRequestKind, _ command: [UInt8]) {
        self.command = command
        if let parts = NewMessage.Parts(kind) {
            content = .messages(parts)
            count = Self.withMessages(of: command, parts) { $0.count }
            // What cannot be forwarded is refused, unless it was before.
            if parts == .forwarded, isRefusal { return nil }
        } else {
            guard kind == .write, Written(command) != nil else { return nil }
            content = .write
            count = 1
        }
    }

    /// Whether the response is about one write, and not about each of some messages.
    var isWrite: Bool { if case .write = content { true } else { false } }

    private var written: Written {
        guard let written = Written(command) else { preconditionFailure("it was read before") }
        return written
    }

    // MARK: For the application

    /// Appends an element of JSON for each message.
    func write(to buffer: inout ByteBuffer) {
        switch content {
        case .write:
            let written = written
            Self.begin(
                written.scheduled == nil ? "edit" : "scheduled", written.write.conversation, written.message,
                to: &buffer)
            buffer.append(key: written.isSealed ? "sealed" : "text", json: written.text)
            if let scheduled = written.scheduled {
                if let parent = scheduled.replyTo { buffer.append(key: "replyTo", json: parent) }
                Array(scheduled.mentions.utf8).withUnsafeBytes { buffer.append(mentions: $0) }
                if !scheduled.extra.isEmpty {
                    Array(scheduled.extra.utf8).withUnsafeBytes { buffer.append(key: "extra", encoded: $0) }
                }
            }
            buffer.endObject()
        case .messages(let parts):
            forEachMessage(parts) { conversation, message in
                Self.begin("message", conversation, message.id, to: &buffer)
                if !message.text.isEmpty {
                    buffer.append(key: message.isSealed ? "sealed" : "text", utf8: message.text)
                }
                if let poll = message.poll {
                    buffer.append(key: "options")
                    buffer.beginArray()
                    for option in poll.options { buffer.append(element: option) }
                    buffer.endArray()
                }
                if let parent = message.replyTo { buffer.append(key: "replyTo", json: parent) }
                buffer.append(mentions: message.mentions)
                buffer.append(attachments: message.attachments)
                if !message.extra.isEmpty { buffer.append(key: "extra", encoded: message.extra) }
                buffer.endObject()
            }
        }
    }

    private static func begin(
        _ kind: StaticString, _ conversation: ConversationID, _ id: MessageID, to buffer: inout ByteBuffer
    ) {
        buffer.beginElement()
        buffer.beginObject()
        buffer.append(key: "kind", json: kind)
        buffer.append(key: "conversationId", json: conversation)
        buffer.append(key: "id", json: id)
    }

    // MARK: For the store

    /// Asks which of some of the messages are stored already.
    func query(_ positions: [Int]) -> WrittenMessages {
        switch content {
        case .write:
            let written = written
            return WrittenMessages(
                [.init(written.message, text: written.text)], in: written.write.conversation, by: written.write.actor)
        case .messages(let parts):
            let all = ids(parts)
            return Self.withMessages(of: command, parts) { head in
                WrittenMessages(positions.map { .init(all[$0]) }, in: head.conversation, by: head.sender)
            }
        }
    }

    /// The command with only some of its messages.
    func command(with positions: Set<Int>) -> [UInt8] {
        guard case .messages(let parts) = content, positions.count < count else { return command }
        var buffer = ByteBuffer()
        Self.withMessages(of: command, parts) { head in
            SendMessages.writeHead(head.conversation, head.sender, count: positions.count, to: &buffer)
        }
        var position = 0
        forEachMessage(parts) { _, message in
            if positions.contains(position) { message.write(to: &buffer, parts) }
            position += 1
        }
        return buffer.array
    }

    // MARK: Reading the command

    private func ids(_ parts: NewMessage.Parts) -> [MessageID] {
        var ids: [MessageID] = []
        forEachMessage(parts) { ids.append($1.id) }
        return ids
    }

    private var isRefusal: Bool {
        var isRefusal = false
        forEachMessage(.forwarded) { isRefusal = $1.forward?.problem != nil }
        return isRefusal
    }

    private func forEachMessage(_ parts: NewMessage.Parts, _ body: (ConversationID, NewMessage) -> Void) {
        Self.withMessages(of: command, parts) { messages in
            do throws(WireError) {
                try messages.forEachMessage { body(messages.conversation, $0) }
            } catch {
                preconditionFailure("a command of this process can be read")
            }
        }
    }

    private static func withMessages<Result>(
        of command: [UInt8], _ parts: NewMessage.Parts, _ body: (SendMessages) -> Result
    ) -> Result {
        command.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let messages = try? SendMessages(from: &reader, parts) else {
                preconditionFailure("a command of this process can be read")
            }
            return body(messages)
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(mentions: UnsafeRawBufferPointer) {
        guard !mentions.isEmpty else { return }
        let (names, all) = Mentions.split(mentions)
        if !names.isEmpty {
            append(key: "mentions")
            beginArray()
            for name in names.split(separator: UInt8(ascii: ",")) {
                append(element: String(decoding: name, as: UTF8.self))
            }
            endArray()
        }
        if all { append(key: "mentionsAll", json: true) }
    }

    /// As in a message. Of a file that cannot be sent, only the id: the store refuses the message.
    fileprivate mutating func append(attachments: AttachmentList) {
        guard !attachments.isEmpty else { return }
        append(key: "attachments")
        beginArray()
        attachments.forEach { file in
            beginElement()
            if file.verdict == .ready { return append(file.descriptor) }
            beginObject()
            append(key: "id", json: file.id.description)
            endObject()
        }
        endArray()
    }
}
