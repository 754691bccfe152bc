import JSON

/// A conversation of a log, one line of a file in the format `irc`:
///
/// `{"conversation": name, "messages": [{"n", "time"?: "HH:MM", "sender", "text", "replyTo"?: n of the parent}…]}`
package struct IRCConversation: Equatable, Sendable {
    package struct Message: Equatable, Sendable {
        package let number: Int64
        /// What the clock showed, in minutes since midnight or noon.
        package let minute: Int?
        package let sender: String
        package let text: String
        /// The parent's index in the conversation, always a smaller one.
        package let parent: Int?

        package init(number: Int64 = 0, minute: Int? = nil, sender: String, text: String, parent: Int?) {
            self.number = number
            self.minute = minute
            self.sender = sender
            self.text = text
            self.parent = parent
        }
    }

    package var name = ""
    package var messages: [Message] = []

    package init(name: String, messages: [Message]) {
        self.name = name
        self.messages = messages
    }

    package init(line: UnsafeRawBufferPointer) throws(JSONError) {
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
            var (number, parent, minute): (Int64, Int?, Int?) = (0, nil, nil)
            var (sender, text) = ("", "")
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "n": number = try reader.integer()
                case "time":
                    minute = Self.minute(try reader.string())
                    if minute == nil { throw reader.failure(.invalidValue("a time as HH:MM")) }
                case "sender": sender = try reader.string()
                case "text": text = try reader.string()
                case "replyTo":
                    parent = positions[try reader.integer()]
                    if parent == nil { throw reader.failure(.invalidValue("the number of an earlier message")) }
                default: try reader.skip()
                }
            }
            positions[number] = messages.count
            messages.append(Message(number: number, minute: minute, sender: sender, text: text, parent: parent))
        }
    }

    private static func minute(_ time: String) -> Int? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = Int(parts[0]),
            let minute = Int(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
        else { return nil }
        return hour * 60 + minute
    }
}
