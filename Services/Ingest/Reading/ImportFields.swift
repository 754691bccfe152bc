import Bytes
import JSON
import Models
import ServiceKit
import Wire

/// A line of an import, validated as far as the line alone shows.
///
/// Texts stay in the memory of the line, and are valid as long as that.
struct ImportFields {
    let conversation: ConversationID
    private let content: Content

    private enum Content {
        case record(ImportRecord)
        case receipt(ImportReceipt)
        case message(Message)
    }

    fileprivate struct Message {
        let id: MessageID
        let sender: UserID
        let replyTo: MessageID?
        let createdAt: Timestamp
        let deletedAt: Timestamp?
        let texts: [Revision]
        /// A JSON array; empty for none.
        let attachments: [UInt8]
        /// A JSON object; empty for none.
        let extra: [UInt8]
        let isSealed: Bool
        let forwarded: Forwarded?
        let poll: NewPoll?
    }

    /// A text of a message, and since when it was that.
    fileprivate struct Revision {
        /// Nil: none, beside attachments. Of a sealed message what is sealed.
        let text: JSONString?
        var isSealed = false
        let at: Timestamp
    }

    init(_ line: UnsafeRawBufferPointer, limits: ClientLimits) throws(Problem) {
        let fields = try reading { () throws(JSONError) in try Fields(line) }
        guard let type = fields.type else { throw .missing("type") }
        conversation = try required(
            type == "conversation" ? fields.id.map { ConversationID($0) } : fields.conversation,
            type == "conversation" ? "id" : "conversationId")
        content =
            switch type {
            case "conversation": .record(.conversation(try fields.opening(conversation, limits)))
            case "message": .message(try fields.message(limits))
            case "tapback": .record(.tapback(try fields.tapback()))
            case "vote": .record(.vote(try fields.vote()))
            case "pollClosed": .record(.pollClosed(try fields.pollClosing()))
            case "member": .record(.member(try fields.memberChange()))
            case "renamed": .record(.title(try fields.renaming(limits)))
            case "receipt": .receipt(try fields.receipt())
            case "end": .record(.end)
            default:
                throw Problem(
                    .invalid,
                    "type: must be conversation, message, tapback, vote, pollClosed, member, renamed, receipt or end")
            }
    }

    /// Whether it is for the receipt service, which has it in the layout of `ImportReceipt`.
    var isReceipt: Bool { if case .receipt = content { true } else { false } }

    var isEnd: Bool { if case .record(.end) = content { true } else { false } }

    /// Writes the record in the layout of `ImportRecord`, or of `ImportReceipt`.
    func write(to buffer: inout ByteBuffer) {
        switch content {
        case .record(let record): record.write(to: &buffer)
        case .receipt(let receipt): receipt.write(to: &buffer)
        case .message(let message): Self.write(message, to: &buffer)
        }
    }

    private static func write(_ message: Message, to buffer: inout ByteBuffer) {
        var texts: [UInt8] = []
        var ends: [Int] = []
        for revision in message.texts {
            revision.text?.withBytes { texts.append(contentsOf: $0) }
            ends.append(texts.count)
        }
        texts.withUnsafeBytes { bytes in
            let texts = zip([0] + ends, zip(ends, message.texts)).map { start, part in
                ImportRecord.Message.Text(UnsafeRawBufferPointer(rebasing: bytes[start..<part.0]), at: part.1.at)
            }
            message.attachments.withUnsafeBytes { attachments in
                message.extra.withUnsafeBytes { extra in
                    let record = ImportRecord.Message(
                        id: message.id, sender: message.sender, replyTo: message.replyTo,
                        createdAt: message.createdAt, deletedAt: message.deletedAt, texts: texts,
                        attachments: attachments, extra: extra, isSealed: message.isSealed,
                        forwarded: message.forwarded, poll: message.poll)
                    ImportRecord.message(record).write(to: &buffer)
                }
            }
        }
    }

    /// The fields of all types in any order, each well-formed.
    private struct Fields {
        var type: JSONString?
        var id: UUIDBytes?
        var conversation: ConversationID?
        private var kind: JSONString?
        private var members: [UserID]?
        private var title: JSONString?
        private var createdAt: Timestamp?
        private var sender: UserID?
        private var text: JSONString?
        private var sealed: JSONString?
        private var replyTo: MessageID?
        private var attachments: [UInt8] = []
        private var extra: UnsafeRawBufferPointer?
        private var forwarded: Forwarded?
        private var poll: PollFields?
        private var revisions: [Revision]?
        private var deletedAt: Timestamp?
        private var subject: MessageID?
        private var user: UserID?
        private var at: Timestamp?
        private var options: [Int]?
        private var change: JSONString?
        private var actor: UserID?
        private var through: MessageID?

        private static let keys: JSONKeys = [
            "type", "id", "conversationId", "kind", "members", "title", "createdAt", "senderId", "text", "replyTo",
            "attachments", "extra", "revisions", "deletedAt", "messageId", "userId", "at", "change", "actorId",
            "throughMessageId", "sealed", "forwarded", "poll", "options",
        ]

        init(_ line: UnsafeRawBufferPointer) throws(JSONError) {
            var reader = JSONReader(line)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                if try !reader.consumeNull() { try read(key, &reader) }
            }
            try reader.end()
        }

        private mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "type": type = try reader.slice()
            case "id": id = try reader.wellFormedUUID()
            case "conversationId": conversation = ConversationID(try reader.wellFormedUUID())
            case "kind": kind = try reader.slice()
            case "members": members = try reader.users()
            case "title": title = try reader.slice()
            case "createdAt": createdAt = try reader.timeForDisplay()
            case "senderId": sender = try reader.userID()
            case "text": text = try reader.slice()
            case "sealed": sealed = try reader.slice()
            case "replyTo": replyTo = MessageID(try reader.wellFormedUUID())
            case "attachments": attachments = try reader.importedAttachments()
            case "extra": extra = try reader.encodedObject()
            case "forwarded": forwarded = try reader.forwarded()
            case "poll": poll = try PollFields(&reader)
            case "revisions": revisions = try reader.revisions()
            case "deletedAt": deletedAt = try reader.timeForDisplay()
            case "messageId": subject = MessageID(try reader.wellFormedUUID())
            case "userId": user = try reader.userID()
            case "at": at = try reader.timeForDisplay()
            case "options": options = try reader.positions()
            case "change": change = try reader.slice()
            case "actorId": actor = try reader.userID()
            case "throughMessageId": through = MessageID(try reader.wellFormedUUID())
            default: try reader.skip()
            }
        }

        // MARK: By type

        func opening(
            _ conversation: ConversationID, _ limits: ClientLimits
        ) throws(Problem) -> ImportRecord.Conversation {
            let kind = try conversationKind(), members = try required(members, "members")
            guard !members.isEmpty, Set(members).count == members.count else {
                throw Problem(.invalid, "members: must be one or more users, each once")
            }
            let most = limits.membersPerRequest + 1  // The creator, and as many as they may have named.
            guard members.count <= most else { throw Problem(.tooLarge, "members: at most \(most) users") }
            guard members.count <= limits.membersPerConversation else { throw .fullConversation }
            if kind == .direct {
                guard members.count == 2, title == nil else {
                    throw Problem(.invalid, "members: a direct conversation has two, and no title")
                }
                guard DirectConversation.id(members[0], members[1]) == conversation else {
                    throw Problem(.invalid, "id: must be the one that is derived from the pair")
                }
            }
            return ImportRecord.Conversation(
                kind: kind, createdAt: try required(createdAt, "createdAt"),
                title: try title.map { (title) throws(Problem) in try ConversationFields.checked(title: title, limits) }
                    ?? "", members: members)
        }

        private func conversationKind() throws(Problem) -> ConversationKind {
            let name = try required(kind, "kind")
            guard let kind = ConversationKind.allCases.first(where: { name == $0.name }) else {
                throw Problem(.invalid, "kind: must be group or direct")
            }
            return kind
        }

        func message(_ limits: ClientLimits) throws(Problem) -> Message {
            let createdAt = try required(createdAt, "createdAt")
            guard sealed == nil || replyTo == nil else {
                throw Problem(.invalid, "replyTo: what a sealed message replies to is said inside")
            }
            guard forwarded == nil || sealed == nil && deletedAt == nil else {
                throw Problem(.invalid, "forwarded: a message that is sealed or deleted has none")
            }
            let poll = try poll?.checked(
                isSealed: sealed != nil, hasAttachments: !attachments.isEmpty, isReply: replyTo != nil)
            guard poll == nil || forwarded == nil && revisions == nil && deletedAt == nil else {
                throw Problem(.invalid, "poll: a message that is forwarded, edited or deleted has none")
            }
            return Message(
                id: MessageID(try required(id, "id")), sender: try required(sender, "senderId"), replyTo: replyTo,
                createdAt: createdAt, deletedAt: deletedAt, texts: try texts(since: createdAt, limits),
                attachments: attachments, extra: try MessageFields.checked(extra: extra), isSealed: sealed != nil,
                forwarded: forwarded, poll: poll)
        }

        /// All texts of a message in their order; none of a deleted one.
        private func texts(since createdAt: Timestamp, _ limits: ClientLimits) throws(Problem) -> [Revision] {
            if let deletedAt {
                guard text == nil, sealed == nil, revisions == nil, attachments.isEmpty, extra == nil else {
                    throw Problem(.invalid, "text: a deleted message has none, no attachments and no extra")
                }
                guard deletedAt >= createdAt else { throw Problem(.invalid, "deletedAt: is before createdAt") }
                return []
            }
            guard sealed == nil || text == nil else { throw Problem(.invalid, "text: a sealed message has none") }
            let text = attachments.isEmpty ? try required(sealed ?? text, "text") : sealed ?? text
            let isSealed = sealed != nil
            let texts = revisions ?? [Revision(text: text, isSealed: isSealed, at: createdAt)]
            guard texts.allSatisfy({ $0.isSealed == isSealed }) else {
                throw Problem(.invalid, "revisions: must have sealed where the message has it, and else text")
            }
            // What was sent without a text may have got one by an edit.
            for (number, revision) in texts.enumerated() {
                guard let text = revision.text, number > 0 || attachments.isEmpty || !text.encoded.isEmpty else {
                    continue
                }
                if isSealed { try checkSealed(text) } else { try MessageFields.check(text, limits) }
            }
            guard texts.first?.at == createdAt, zip(texts, texts.dropFirst()).allSatisfy({ $0.at <= $1.at }) else {
                throw Problem(.invalid, "revisions: must begin at createdAt, in the order of their times")
            }
            guard texts.last?.text?.string ?? "" == text?.string ?? "" else {
                throw Problem(.invalid, "revisions: the last one must be the text")
            }
            return texts
        }

        func tapback() throws(Problem) -> ImportRecord.Tapback {
            let kind = try required(kind, "kind").string
            guard TapbackKind(kind) != nil else { throw Problem(.invalid, "kind: must be a tapback") }
            return ImportRecord.Tapback(
                message: try required(subject, "messageId"), user: try required(user, "userId"), kind: kind,
                at: try required(at, "at"))
        }

        func vote() throws(Problem) -> ImportRecord.Vote {
            let options = try VoteFields.options(at: options)
            guard options.bits > 0 else { throw Problem(.invalid, "options: must be one or more") }
            return ImportRecord.Vote(
                message: try required(subject, "messageId"), user: try required(user, "userId"), options: options,
                at: try required(at, "at"))
        }

        func pollClosing() throws(Problem) -> ImportRecord.PollClosing {
            ImportRecord.PollClosing(
                of: try required(subject, "messageId"), at: try required(at, "at"), by: actor)
        }

        func memberChange() throws(Problem) -> ImportRecord.MemberChange {
            let kind: ChangeKind
            switch try required(change, "change") {
            case "added": kind = .memberAdded
            case "removed": kind = .memberRemoved
            case "role": kind = .memberChanged
            default: throw Problem(.invalid, "change: must be added, removed or role")
            }
            return ImportRecord.MemberChange(
                kind, of: try required(user, "userId"), at: try required(at, "at"), by: actor)
        }

        func receipt() throws(Problem) -> ImportReceipt {
            let kind: ImportReceipt.Kind
            switch try required(self.kind, "kind") {
            case "delivered": kind = .delivered
            case "read": kind = .read
            default: throw Problem(.invalid, "kind: must be delivered or read")
            }
            return ImportReceipt(
                kind, by: try required(user, "userId"), through: try required(through, "throughMessageId"),
                at: try required(at, "at"))
        }

        func renaming(_ limits: ClientLimits) throws(Problem) -> ImportRecord.Title {
            let title = try ConversationFields.checked(title: try required(title, "title"), limits)
            return ImportRecord.Title(title, at: try required(at, "at"), by: actor)
        }
    }
}

private func required<Value>(_ value: Value?, _ field: StaticString) throws(Problem) -> Value {
    guard let value else { throw .missing(field) }
    return value
}

extension JSONReader {
    private static var forwardedKeys: JSONKeys { ["userId", "sentAt"] }

    fileprivate mutating func forwarded() throws(JSONError) -> Forwarded {
        var user: UserID?
        var sentAt: Timestamp?
        var given = JSONKeys.Given()
        try beginObject()
        while let key = try nextKey(of: Self.forwardedKeys, &given) {
            switch key {
            case "userId": user = try userID()
            case "sentAt": sentAt = try timeForDisplay()
            default: try skip()
            }
        }
        guard let user, let sentAt else { throw failure(.expected("an origin with userId and sentAt")) }
        return Forwarded(userId: user, sentAt: sentAt)
    }

    private static var revisionKeys: JSONKeys { ["text", "at", "sealed"] }

    fileprivate mutating func revisions() throws(JSONError) -> [ImportFields.Revision] {
        var revisions: [ImportFields.Revision] = []
        try beginArray()
        while try nextElement() {
            var text: JSONString?
            var isSealed = false
            var at: Timestamp?
            var given = JSONKeys.Given()
            try beginObject()
            while let key = try nextKey(of: Self.revisionKeys, &given) {
                switch key {
                case "text": text = try slice()
                case "sealed": (text, isSealed) = (try slice(), true)
                case "at": at = try timeForDisplay()
                default: try skip()
                }
            }
            guard let text, let at else { throw failure(.expected("a revision with text and at")) }
            revisions.append(ImportFields.Revision(text: text, isSealed: isSealed, at: at))
        }
        return revisions
    }
}
