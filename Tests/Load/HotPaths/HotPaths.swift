import Bytes
import Edge
import Glibc
import JSON
import Models
import Postgres
import Wire

/// Carries out one of the paths that every message takes, so many times: for Tests/Load/instructions.py, which counts
/// what the processor does meanwhile.
///
///     HotPaths PATH TIMES
@main
enum HotPaths {
    private static let paths: [String: @Sendable (Int) throws -> Void] = [
        "read-send": readSend, "carry-command": carryCommand, "build-batch": buildBatch,
        "encode-change": encodeChange, "deliver-to-10": deliver,
    ]

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let path = paths[arguments[1]], let times = Int(arguments[2]) else {
            print(paths.keys.sorted().joined(separator: "\n"))
            exit(arguments.count == 1 ? 0 : 2)
        }
        try path(times)
    }

    private static let conversation = ConversationID(UUIDBytes(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_00AA))
    private static let message = MessageID(UUIDBytes(high: 0x0190_0000_0001_7000, low: 0x8000_0000_0000_0BBB))
    private static let sender = UserID("load:1:sender")!
    private static let time = Timestamp(milliseconds: 1_700_000_000_123)
    private static let text = Array("A message of a usual length, with “quotes”, an emoji 🧗 and\na line feed.".utf8)

    // MARK: ingest

    /// The body of a send becomes a command.
    private static func readSend(_ times: Int) throws {
        let body = Array(
            #"{"id":"01900000-0001-7000-8000-000000000bbb","text":"A message of a usual length, with \"quotes\" and\na line feed.","sentAt":"2026-11-21T18:00:00.000Z"}"#
                .utf8)
        let keys: JSONKeys = ["id", "text", "conversationId", "replyTo", "mentions", "sentAt", "attachments"]
        var command = ByteBuffer(capacity: 1024)
        for _ in 0..<times {
            command.removeAll()
            try body.withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                var given = JSONKeys.Given()
                var id = message, sentAt = time
                var text: JSONString?
                try reader.beginObject()
                while let key = try reader.nextKey(of: keys, &given) {
                    switch key {
                    case "id": id = try reader.messageID()
                    case "text": text = try reader.slice()
                    case "sentAt": sentAt = try reader.timestamp()
                    default: try reader.skip()
                    }
                }
                try reader.end()
                SendMessages.writeHead(conversation, sender, count: 1, to: &command)
                text?.withBytes { text in
                    NewMessage(id: id, sentAt: sentAt, replyTo: nil, mentions: empty, text: text).write(to: &command)
                }
            }
        }
    }

    private static var empty: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    // MARK: store

    /// A command travels in a frame of the bus, and is read.
    private static func carryCommand(_ times: Int) throws {
        var frame = FrameWriter(topic: .command(conversation.slot.group), origin: Instance(7))
        try text.withUnsafeBytes { text in
            for number in 0..<times {
                frame.removeEntries()
                frame.append { buffer in
                    RequestEntry.write(RequestNumber(UInt64(number)), conversation.slot, kind: 2, to: &buffer) {
                        SendMessages.writeHead(conversation, sender, count: 1, to: &$0)
                        newMessage(text).write(to: &$0)
                    }
                }
                for entry in try FrameReader(frame.bytes).entries {
                    var reader = ByteReader(try RequestEntry(entry).fields)
                    try SendMessages(from: &reader).forEachMessage { precondition($0.id == message) }
                }
            }
        }
    }

    private static func newMessage(_ text: UnsafeRawBufferPointer) -> NewMessage {
        NewMessage(id: message, sentAt: time, replyTo: nil, mentions: empty, text: text)
    }

    /// Messages become the arrays of a statement, 100 at a time.
    private static func buildBatch(_ times: Int) {
        var parameters = Parameters()
        text.withUnsafeBytes { text in
            for _ in 0..<(times / 100) {
                parameters.removeAll()
                parameters.addArray(of: .int2)
                for _ in 0..<100 { parameters.append(conversation.slot) }
                parameters.addArray(of: .uuid)
                for _ in 0..<100 { parameters.append(message) }
                parameters.addArray(of: .text)
                for _ in 0..<100 { parameters.append(sender) }
                parameters.addArray(of: .text)
                for _ in 0..<100 { parameters.append(text) }
                parameters.addArray(of: .timestamptz)
                for _ in 0..<100 { parameters.append(time) }
                parameters.finish()
            }
        }
    }

    /// A stored message becomes the change that everybody gets.
    private static func encodeChange(_ times: Int) {
        var buffer = ByteBuffer(capacity: 4096)
        for number in 0..<times {
            buffer.removeAll()
            writeChange(seq: Int64(number), to: &buffer)
        }
    }

    private static func writeChange(seq: Int64, to buffer: inout ByteBuffer) {
        ChangeEntry.write(conversation, seq: seq, .messageCreated, messageSeq: seq, to: &buffer) { buffer in
            buffer.beginObject()
            buffer.append(key: "conversationId", json: conversation)
            buffer.append(key: "seq", json: seq)
            buffer.append(key: "at", json: time)
            buffer.append(key: "actorId", json: sender)
        } rest: { buffer in
            buffer.append(key: "message")
            buffer.beginObject()
            buffer.append(key: "id", json: message)
            buffer.append(key: "senderId", json: sender)
            text.withUnsafeBytes { buffer.append(key: "text", utf8: $0) }
            buffer.append(key: "createdAt", json: time)
            buffer.endObject()
            buffer.endObject()
        }
    }

    // MARK: fanout

    /// A change becomes a frame, which ten sessions queue and send.
    private static func deliver(_ times: Int) throws {
        var entry = ByteBuffer(capacity: 4096)
        writeChange(seq: 7, to: &entry)
        var queues = Array(repeating: FrameQueue(), count: 10)
        for _ in 0..<times {
            var reader = ByteReader(entry.bytes)
            let frame = WebSocketFrame.text(try ChangeEntry(from: &reader).json)
            for index in queues.indices {
                queues[index].append(frame)
                let count = queues[index].withVectors { $0.reduce(0) { $0 + $1.iov_len } }
                queues[index].removeFirst(count)
            }
        }
    }
}
