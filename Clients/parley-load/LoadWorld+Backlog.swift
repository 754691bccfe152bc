import Bytes
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport
import ServiceKit

/// Messages sent in batches before a measurement begins.
extension LoadWorld {
    /// - Parameter count: the number per conversation, written by its first member.
    func sendBacklog(_ count: Int, in conversations: [LoadConversation]) async throws(APIError) {
        let batches = conversations.flatMap { conversation in
            stride(from: 0, to: count, by: Backlog.batch).map { start in
                Backlog(conversation, (0..<min(Backlog.batch, count - start)).map { _ in conversation.takeNumber() })
            }
        }
        try await BulkRequests.run(batches.count, over: http) { [self] number in
            let batch = batches[number]
            return HTTPRequest(
                method: "POST", path: "/v1/messages:batch",
                token: identity(batch.conversation.members[0]).token,
                body: batch.body(run: settings.run, text: settings.text))
        } handle: { number, response in
            try batches[number].acknowledge(response.body)
        }
    }
}

/// One batch of messages in one conversation.
@Reactor
private struct Backlog {
    static let batch = 250

    struct Refused: Error, CustomStringConvertible {
        let status: Int64
        var description: String { "a message of the batch was refused with status \(status)" }
    }

    let conversation: LoadConversation
    private let numbers: [Int]
    private let due = MonotonicTime.now
    private let milliseconds = UInt64(max(0, Timestamp.now.milliseconds))

    init(_ conversation: LoadConversation, _ numbers: [Int]) {
        self.conversation = conversation
        self.numbers = numbers
    }

    func body(run: Int, text: LoadText) -> [UInt8] {
        var body = ByteBuffer(capacity: numbers.count * (text.count + 128))
        body.beginObject()
        body.append(key: "messages")
        body.beginArray()
        for number in numbers {
            let id = MessageNumber(run: run, conversation: conversation.number, number: number)
            body.beginElement()
            body.beginObject()
            body.append(key: "conversationId", json: conversation.id)
            body.append(key: "id", json: id.id(milliseconds: milliseconds))
            body.append(#","text":""# as StaticString)
            body.append(count: LoadText.digits) { LoadText.write(due, to: $0) }
            body.append(text.words)
            body.append(UInt8(ascii: "\""))
            body.endObject()
        }
        body.endArray()
        body.endObject()
        return body.array
    }

    /// Reads `{results: [{status, message}…]}`. Acknowledges nothing before all of it is read.
    func acknowledge(_ document: UnsafeRawBufferPointer) throws {
        var messages: [MessageView] = []
        var reader = JSONReader(document)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard key == "results" else {
                try reader.skip()
                continue
            }
            try reader.beginArray()
            while try reader.nextElement() { messages.append(try Self.message(&reader)) }
        }
        for message in messages {
            guard let id = message.id else { throw Refused(status: 200) }
            conversation.acknowledge(MessageNumber(id).number, seq: message.seq, at: .now)
        }
    }

    private static func message(_ reader: inout JSONReader) throws -> MessageView {
        var status: Int64 = 0
        var message = MessageView()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "status": status = try reader.integer()
            case "message": message = try MessageView(reading: &reader)
            default: try reader.skip()
            }
        }
        if Reply.isTemporary(Int(status)) { throw BulkRequests.NotYet() }
        guard status == 200 || status == 201 else { throw Refused(status: status) }
        return message
    }
}
