import Bytes
import JSON
import Models
import Wire

/// A message from a client, validated: `{id, text?, sealed?, poll?, attachments?, replyTo?, mentions?, mentionsAll?, extra?,
/// sentAt?}`, in a batch with `conversationId`, or `{id, forward, sentAt?}`.
///
/// The text stays in the memory of the request's body, and is valid as long as that.
struct MessageFields {
    private(set) var conversation: ConversationID?
    let id: MessageID
    /// Nil only beside attachments. Of a sealed message what is sealed.
    private let text: JSONString?
    let isSealed: Bool
    let poll: NewPoll?
    /// What it is to be made of, if it is forwarded.
    let forward: ForwardFields?
    private let attachments: [MediaID]
    /// Encoded; empty for none.
    let extra: [UInt8]
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
        try Self.check(fields.attachments)
        forward = fields.forward
        guard forward == nil || fields.hasNothingElse else {
            throw Problem(.invalid, "forward: beside it there are only id and sentAt")
        }
        poll = try fields.poll?.checked(
            isSealed: fields.sealed != nil, hasAttachments: !fields.attachments.isEmpty, isReply: fields.replyTo != nil)
        if let sealed = fields.sealed {
            guard fields.text == nil else { throw Problem(.invalid, "text: a sealed message has none") }
            guard fields.replyTo == nil else {
                throw Problem(.invalid, "replyTo: what a sealed message replies to is said inside")
            }
            try checkSealed(sealed)
        } else if let text = fields.text {
            try Self.check(text, limits)
        } else if fields.attachments.isEmpty, forward == nil {
            throw .missing("text")
        }
        try Self.check(fields.mentions)
        self.id = id
        text = fields.sealed ?? fields.text
        isSealed = fields.sealed != nil
        attachments = fields.attachments
        extra = try Self.checked(extra: fields.extra)
        conversation = fields.conversation
        replyTo = fields.replyTo
        mentions = Self.joined(fields.mentions, everybody: fields.mentionsAll)
        sentAt = fields.sentAt ?? now
    }

    /// Whether it has nothing but what is in a `sendMessages` request.
    var isPlain: Bool { attachments.isEmpty && extra.isEmpty && !isSealed && poll == nil }

    /// What the message is to carry.
    var media: MessageMedia { MessageMedia(id, attachments) }

    /// A message of what is forwarded.
    /// - Parameter forward: an encoded `Forward`.
    func newMessage(
        _ text: UnsafeRawBufferPointer, _ files: AttachmentList, _ forward: UnsafeRawBufferPointer
    ) -> NewMessage {
        NewMessage(
            id: id, sentAt: sentAt, replyTo: nil, mentions: UnsafeRawBufferPointer(start: nil, count: 0), text: text,
            attachments: files, forward: forward)
    }

    /// Writes the message in the layout of `NewMessage.Parts.text`.
    func write(to buffer: inout ByteBuffer) {
        guard let text else { return write(UnsafeRawBufferPointer(start: nil, count: 0), to: &buffer) }
        text.withBytes { write($0, to: &buffer) }
    }

    private func write(_ text: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
        mentions.withUnsafeBytes { mentions in
            NewMessage(id: id, sentAt: sentAt, replyTo: replyTo, mentions: mentions, text: text).write(to: &buffer)
        }
    }

    private static func check(_ attachments: [MediaID]) throws(Problem) {
        guard attachments.count <= ContractLimits.attachmentsPerMessage else {
            throw Problem(.tooLarge, "attachments: at most \(ContractLimits.attachmentsPerMessage) files")
        }
        guard Set(attachments).count == attachments.count else {
            throw Problem(.invalid, "attachments: must name each file once")
        }
    }

    static func check(_ mentions: [UserID]) throws(Problem) {
        guard mentions.count <= ContractLimits.mentionsPerMessage else {
            throw Problem(.tooLarge, "mentions: at most \(ContractLimits.mentionsPerMessage) users")
        }
    }

    static func checked(extra: UnsafeRawBufferPointer?) throws(Problem) -> [UInt8] {
        guard let extra else { return [] }
        try checkExtra(extra, atMost: ContractLimits.messageExtraBytes)
        return compact(extra)
    }

    static func check(_ text: JSONString, _ limits: ClientLimits, mayBeBlank: Bool = false) throws(Problem) {
        try text.withBytes { (bytes) throws(Problem) in
            guard bytes.count <= limits.textBytes else {
                throw Problem(.tooLarge, "text: at most \(limits.textBytes) bytes of UTF-8")
            }
            guard mayBeBlank || !isBlank(bytes) else { throw Problem(.invalid, "text: must not be blank") }
        }
    }

    /// The names in their order, without repetitions, as `Mentions` has them.
    static func joined(_ users: [UserID], everybody: Bool) -> [UInt8] {
        if users.isEmpty && !everybody { return [] }
        var seen: Set<UserID> = []
        let names = users.filter { seen.insert($0).inserted }.map(\.name)
        return Array(((everybody ? [Mentions.everybody] : []) + names).joined(separator: ",").utf8)
    }

    /// The fields in any order, each well-formed.
    private struct Fields {
        var conversation: ConversationID?
        var id: MessageID?
        var text: JSONString?
        var sealed: JSONString?
        var poll: PollFields?
        var forward: ForwardFields?
        var attachments: [MediaID] = []
        var replyTo: MessageID?
        var mentions: [UserID] = []
        var mentionsAll = false
        var extra: UnsafeRawBufferPointer?
        var sentAt: Timestamp?

        private static let keys: JSONKeys = [
            "id", "text", "conversationId", "replyTo", "mentions", "sentAt", "attachments", "extra", "mentionsAll",
            "sealed", "poll", "forward",
        ]

        var hasNothingElse: Bool {
            text == nil && sealed == nil && poll == nil && attachments.isEmpty && replyTo == nil && mentions.isEmpty
                && !mentionsAll
                && extra == nil
        }

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
            case "text": text = try reader.consumeNull() ? nil : try reader.slice()
            case "sealed": sealed = try reader.consumeNull() ? nil : try reader.slice()
            case "poll": poll = try reader.consumeNull() ? nil : try PollFields(&reader)
            case "forward": forward = try reader.consumeNull() ? nil : try ForwardFields(from: &reader)
            case "conversationId": conversation = ConversationID(try reader.wellFormedUUID())
            case "replyTo": replyTo = try reader.consumeNull() ? nil : MessageID(try reader.wellFormedUUID())
            case "mentions": mentions = try reader.consumeNull() ? [] : try reader.users()
            case "mentionsAll": mentionsAll = try reader.consumeNull() ? false : try reader.bool()
            case "sentAt": sentAt = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            case "extra": extra = try reader.consumeNull() ? nil : try reader.encodedObject()
            case "attachments": attachments = try reader.consumeNull() ? [] : try reader.attachments()
            default: try reader.skip()
            }
        }
    }
}

extension JSONReader {
    private static var attachmentKeys: JSONKeys { ["id"] }

    /// `[{id}…]`: at most one more than a message may carry, and nothing of the rest.
    fileprivate mutating func attachments() throws(JSONError) -> [MediaID] {
        var ids: [MediaID] = []
        try beginArray()
        while try nextElement() {
            let id = try attachment()
            if ids.count <= ContractLimits.attachmentsPerMessage { ids.append(id) }
        }
        return ids
    }

    private mutating func attachment() throws(JSONError) -> MediaID {
        var id: MediaID?
        var given = JSONKeys.Given()
        try beginObject()
        while let key = try nextKey(of: Self.attachmentKeys, &given) {
            if key == "id" { id = MediaID(try wellFormedUUID()) } else { try skip() }
        }
        guard let id else { throw failure(.expected("an attachment with its id"), at: offset - 1) }
        return id
    }
}
