import Bytes
import JSON
import Models
import Wire

/// A message from a client, validated: `{id, text, replyTo?, mentions?, sentAt?}`, in a batch with `conversationId`.
///
/// The text stays in the memory of the request's body, and is valid as long as that.
struct MessageFields {
    private(set) var conversation: ConversationID?
    private let id: MessageID
    private let text: JSONString
    private let replyTo: MessageID?
    private let mentions: [UInt8]
    private let sentAt: Timestamp

    /// - Parameter now: the value of a missing `sentAt`.
    init(_ body: UnsafeRawBufferPointer, limits: ClientLimits, now: Timestamp) throws(Problem) {
        let fields = try reading { () throws(JSONError) in try Fields(body) }
        guard let id = fields.id else { throw .missing("id") }
        guard id.uuid.isChosenByClient else {
            throw Problem(.invalid, "id: must be a UUID of version 4 or 7 in lower case")
        }
        guard let text = fields.text else { throw .missing("text") }
        try Self.check(text, limits)
        guard fields.mentions.count <= ContractLimits.mentionsPerMessage else {
            throw Problem(.tooLarge, "mentions: at most \(ContractLimits.mentionsPerMessage) users")
        }
        self.id = id
        self.text = text
        conversation = fields.conversation
        replyTo = fields.replyTo
        mentions = Self.joined(fields.mentions)
        sentAt = fields.sentAt ?? now
    }

    /// Writes the message in the layout of `NewMessage`.
    func write(to buffer: inout ByteBuffer) {
        text.withBytes { text in
            mentions.withUnsafeBytes { mentions in
                NewMessage(id: id, sentAt: sentAt, replyTo: replyTo, mentions: mentions, text: text).write(to: &buffer)
            }
        }
    }

    static func check(_ text: JSONString, _ limits: ClientLimits) throws(Problem) {
        try text.withBytes { (bytes) throws(Problem) in
            guard bytes.count <= limits.textBytes else {
                throw Problem(.tooLarge, "text: at most \(limits.textBytes) bytes of UTF-8")
            }
            guard !isBlank(bytes) else { throw Problem(.invalid, "text: must not be blank") }
        }
    }

    /// The names in their order, without repetitions, separated by commas.
    private static func joined(_ users: [UserID]) -> [UInt8] {
        if users.isEmpty { return [] }
        var seen: Set<UserID> = []
        return Array(users.filter { seen.insert($0).inserted }.map(\.name).joined(separator: ",").utf8)
    }

    /// The fields in any order, each well-formed.
    private struct Fields {
        var conversation: ConversationID?
        var id: MessageID?
        var text: JSONString?
        var replyTo: MessageID?
        var mentions: [UserID] = []
        var sentAt: Timestamp?

        private static let keys: JSONKeys = [
            "id", "text", "conversationId", "replyTo", "mentions", "sentAt", "attachments",
        ]

        init(_ body: UnsafeRawBufferPointer) throws(JSONError) {
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) { try read(key, &reader) }
            try reader.end()
        }

        private mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "id": id = try reader.messageID()
            case "text": text = try reader.slice()
            case "conversationId": conversation = ConversationID(try reader.wellFormedUUID())
            case "replyTo": replyTo = try reader.consumeNull() ? nil : MessageID(try reader.wellFormedUUID())
            case "mentions": mentions = try reader.consumeNull() ? [] : try reader.users()
            case "sentAt": sentAt = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            case "attachments": try reader.refuseUnlessNull("null: attachments are not supported yet")
            default: try reader.skip()
            }
        }
    }
}
