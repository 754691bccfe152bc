import CommandSupport
import Glibc
import JSON
import ServiceKit

/// A real conversation: one line of the input file.
///
/// `{"conversation": name, "messages": [{"n", "sender", "text", "replyTo"?: n of the parent}…]}`
struct SourceConversation: Equatable, Sendable {
    struct Message: Equatable, Sendable {
        let sender: String
        let text: String
        /// The parent's index in the conversation, always a smaller one.
        let parent: Int?
    }

    var name = ""
    var messages: [Message] = []

    static func read(file path: String) throws(UsageError) -> [SourceConversation] {
        guard let content = readFile(path) else {
            throw UsageError("cannot read \(path): \(String(cString: strerror(errno)))")
        }
        var conversations: [SourceConversation] = []
        for (number, line) in content.split(separator: UInt8(ascii: "\n")).enumerated() {
            do {
                conversations.append(try line.withUnsafeBytes { try SourceConversation(line: $0) })
            } catch {
                throw UsageError("\(path), line \(number + 1): \(error)")
            }
        }
        guard !conversations.isEmpty else { throw UsageError("\(path) holds no conversation") }
        return conversations
    }

    init(name: String, messages: [Message]) {
        self.name = name
        self.messages = messages
    }

    init(line: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(line)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "conversation": name = try reader.string()
            case "messages": try readMessages(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    private mutating func readMessages(_ reader: inout JSONReader) throws(JSONError) {
        var positions: [Int64: Int] = [:]
        try reader.beginArray()
        while try reader.nextElement() {
            var (number, parent): (Int64, Int?) = (0, nil)
            var (sender, text) = ("", "")
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "n": number = try reader.integer()
                case "sender": sender = try reader.string()
                case "text": text = try reader.string()
                case "replyTo":
                    parent = positions[try reader.integer()]
                    if parent == nil { throw reader.failure(.invalidValue("the number of an earlier message")) }
                default: try reader.skip()
                }
            }
            positions[number] = messages.count
            messages.append(Message(sender: sender, text: text, parent: parent))
        }
    }
}
