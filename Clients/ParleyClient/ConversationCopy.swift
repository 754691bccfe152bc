import JSON
import Models
import ParleyDigest

/// A client's copy of a conversation, as the lines that its digests are made of: openapi.json, "Comparing copies".
public struct ConversationCopy {
    private struct Message {
        let seq: Int64
        let changeSeq: Int64
        let line: String
    }

    private var changes: [Int64: String] = [:]
    private var messages: [MessageID: Message] = [:]

    public init() {}

    /// Takes a change with the message it is about.
    public mutating func take(change encoded: UnsafeRawBufferPointer) throws(JSONError) {
        let change = try CopiedChange(document: encoded)
        changes[change.seq] = change.line
        if let message = change.message { take(message) }
    }

    /// Takes a change without its message, for a copy whose messages come from the history.
    public mutating func take(changeOnly encoded: UnsafeRawBufferPointer) throws(JSONError) {
        let change = try CopiedChange(document: encoded)
        changes[change.seq] = change.line
    }

    /// Takes a message of the history.
    public mutating func take(message encoded: UnsafeRawBufferPointer) throws(JSONError) {
        take(try CopiedMessage(document: encoded))
    }

    /// Keeps the newer state of a message, which is the one with the higher `changeSeq`. Digests skip system messages.
    private mutating func take(_ message: CopiedMessage) {
        guard let id = message.id, message.kind != "system", messages[id]?.changeSeq ?? 0 < message.changeSeq else {
            return
        }
        messages[id] = Message(seq: message.seq, changeSeq: message.changeSeq, line: message.line)
    }

    /// Compares with all pages of the server's digests, each requested at most once.
    public func differences(from pages: [DigestPage.Entry]) -> [String] {
        let state = Dictionary(messages.values.map { ($0.seq, $0.line) }, uniquingKeysWith: { $1 })
        return pages.flatMap { page in
            [
                ("changes", page.changes, Self.digest(of: changes, in: page)),
                ("state", page.state, Self.digest(of: state, in: page)),
            ].compactMap { name, theirs, own in
                theirs == own ? nil : "the \(name) of positions \(page.first) to \(page.last)"
            }
        }
    }

    private static func digest(of lines: [Int64: String], in page: DigestPage.Entry) -> String {
        var hash = SHA256Text()
        for seq in page.first...max(page.first, page.last) {
            if let line = lines[seq] { hash.update(line) }
        }
        return hash.finish()
    }
}

/// The fields of a change that a digest covers.
private struct CopiedChange: JSONObject {
    var seq: Int64 = 0
    var message: CopiedMessage?
    private var kind = ""
    private var actor = ""
    private var user: String?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "seq": seq = try reader.integer()
        case "kind": kind = try reader.string()
        case "actorId": actor = try reader.string()
        case "userId": user = try reader.string()
        case "message": message = try CopiedMessage(reading: &reader)
        default: try reader.skip()
        }
    }

    var line: String { "\(seq) \(kind) \(message?.id?.description ?? user ?? "-") \(actor)\n" }
}

/// The fields of a message that a digest covers.
private struct CopiedMessage: JSONObject {
    var id: MessageID?
    var seq: Int64 = 0
    var changeSeq: Int64 = 0
    var kind = ""
    private var sender = ""
    private var text: String?
    private var replyTo: MessageID?
    private var editedAt: String?
    private var mentions: [String] = []
    private var tapbacks: [(kind: String, count: Int64)] = []
    private var votes: String?

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "id": id = try reader.messageID()
        case "seq": seq = try reader.integer()
        case "changeSeq": changeSeq = try reader.integer()
        case "kind": kind = try reader.string()
        case "senderId": sender = try reader.string()
        case "text": if try !reader.consumeNull() { text = try reader.string() }
        case "sealed": text = try reader.string()
        case "replyTo": replyTo = try MessageView.parent(&reader)
        case "editedAt": editedAt = try reader.string()
        case "mentions": mentions = try Self.names(&reader)
        case "poll": votes = try Self.votes(&reader)
        case "tapbackCounts": tapbacks = try Self.counts(&reader)
        default: try reader.skip()
        }
    }

    private static func names(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        var names: [String] = []
        try reader.beginArray()
        while try reader.nextElement() { names.append(try reader.string()) }
        return names
    }

    private static func counts(_ reader: inout JSONReader) throws(JSONError) -> [(kind: String, count: Int64)] {
        var counts: [(kind: String, count: Int64)] = []
        try reader.beginObject()
        while let kind = try reader.nextKey() { counts.append((kind.string, try reader.integer())) }
        // Sorted by bytes: Swift strings are compared and ordered after normalisation.
        return counts.sorted { $0.kind.utf8.lexicographicallyPrecedes($1.kind.utf8) }
    }

    /// `open:` or `closed:`, and the votes for each option.
    private static func votes(_ reader: inout JSONReader) throws(JSONError) -> String {
        var counts: [String] = [], isClosed = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "options":
                try reader.beginArray()
                while try reader.nextElement() { counts.append("\(try option(&reader))") }
            case "closedAt":
                isClosed = true
                try reader.skip()
            default: try reader.skip()
            }
        }
        return (isClosed ? "closed:" : "open:") + counts.joined(separator: ",")
    }

    private static func option(_ reader: inout JSONReader) throws(JSONError) -> Int64 {
        var votes: Int64 = 0
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "votes" { votes = try reader.integer() } else { try reader.skip() }
        }
        return votes
    }

    var line: String {
        var fields = [
            "\(seq)", id?.description ?? "-", sender, replyTo?.description ?? "-", editedAt ?? "-",
            mentions.isEmpty ? "-" : mentions.joined(separator: ","),
            tapbacks.isEmpty ? "-" : tapbacks.map { "\($0.kind):\($0.count)" }.joined(separator: ","),
            text.map(SHA256Text.of) ?? "-",
        ]
        if let votes { fields.append(votes) }
        return fields.joined(separator: " ") + "\n"
    }
}
