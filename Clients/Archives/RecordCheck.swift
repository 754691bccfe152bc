import Models

/// Says which records an import would refuse: the rules of `POST /v1/import`, as far as a file shows them.
///
/// It keeps the ids of the messages of conversations that have no `end` yet.
package final class RecordCheck {
    /// Why a record would be refused.
    package enum Refusal: String, CaseIterable, Sendable {
        case isOpen = "the conversation is open already, or has ended"
        case isNotOpen = "the conversation is not open"
        case members = "the members are none, doubled, too many, or not those of a direct conversation with this id"
        case kind = "the kind is not known"
        case title = "the title is blank, too long, or of a direct conversation"
        case order = "the date lies before that of the record before"
        case future = "the date lies in the future"
        case doubledMessage = "the message is there already"
        case text = "the text is missing, blank, too long, or holds U+0000"
        case sealed = "what is sealed is no base64, too long, or beside a text or a parent"
        case revisions = "the revisions are out of order, or do not end in the text"
        case unknownMessage = "the message, or the one it replies to, is not there"
        case deletedMessage = "the message is deleted"
        case notAMember = "the user is not a member"
        case membership = "the change of members changes nothing, or is one of a direct conversation"
        case poll = "the options of a poll are too few, too many, doubled or too long, or it is more than a question"
        case noPoll = "the message is no poll, or one that is closed"
        case options = "the vote is for no option of the poll, or for several where one may choose one"
        case tapback = "the tapback is neither a classic one nor an emoji"
        case notEnded = "the conversation has no end"
    }

    private struct Opened {
        let isDirect: Bool
        /// Since when each member is one.
        var members: [UserID: Timestamp]
        /// The ended stays of users.
        var formerStays: [UserID: [ClosedRange<Timestamp>]] = [:]
        var messages: [MessageID: Message] = [:]
        var horizons: [UserID: Horizons] = [:]
        var last: Timestamp

        func wasMember(_ user: UserID, at time: Timestamp) -> Bool {
            members[user].map { $0 <= time } ?? false || formerStays[user]?.contains { $0.contains(time) } ?? false
        }
    }

    private struct Message {
        /// Among the messages of the conversation.
        let place: Int
        let createdAt: Timestamp
        let isDeleted: Bool
        var poll: Poll?
    }

    private struct Poll {
        let options: Int
        let isMultiple: Bool
        var isClosed = false
    }

    /// How far a user is, and since when.
    private struct Horizons {
        /// The number of messages.
        var delivered = 0
        var read = 0
        var at: Timestamp
    }

    private let now: Timestamp
    private var opened: [ConversationID: Opened] = [:]
    private var ended: Set<ConversationID> = []

    package private(set) var counts: [ImportRecord.Kind: Int] = [:]

    package init(now: Timestamp) { self.now = now }

    /// Returns why the record would be refused; nil if it would be taken.
    package func take(_ record: ImportRecord) -> Refusal? {
        counts[record.kind, default: 0] += 1
        switch record {
        case .conversation(let record): return open(record)
        case .message(let record): return change(record.conversationId) { take(record, &$0) }
        case .tapback(let record): return change(record.conversationId) { take(record, &$0) }
        case .vote(let record): return change(record.conversationId) { take(record, &$0) }
        case .pollClosed(let record): return change(record.conversationId) { take(record, &$0) }
        case .member(let record): return change(record.conversationId) { take(record, &$0) }
        case .renamed(let record): return change(record.conversationId) { take(record, &$0) }
        case .receipt(let record): return change(record.conversationId) { take(record, &$0) }
        case .end(let record):
            guard opened.removeValue(forKey: record.conversationId) != nil else { return .isNotOpen }
            ended.insert(record.conversationId)
            return nil
        }
    }

    /// The conversations whose import was begun and not ended.
    package var unended: [ConversationID] { opened.keys.sorted { $0.uuid < $1.uuid } }

    private func open(_ record: ImportRecord.Conversation) -> Refusal? {
        guard opened[record.id] == nil, !ended.contains(record.id) else { return .isOpen }
        guard let kind = record.kind.known else { return .kind }
        let members = Set(record.members)
        guard members.count == record.members.count, !members.isEmpty,
            members.count <= ContractLimits.membersPerRequest + 1  // The creator, and as many as they may have named.
        else { return .members }
        if kind == .direct, members.count != 2 || ArchiveID.direct(record.members[0], record.members[1]) != record.id {
            return .members
        }
        if let title = record.title, kind == .direct || !Self.isTitle(title) { return .title }
        guard record.createdAt <= now else { return .future }
        opened[record.id] = Opened(
            isDirect: kind == .direct,
            members: Dictionary(uniqueKeysWithValues: members.map { ($0, record.createdAt) }), last: record.createdAt)
        return nil
    }

    private func change(_ id: ConversationID, _ body: (inout Opened) -> Refusal?) -> Refusal? {
        guard let index = opened.index(forKey: id) else { return .isNotOpen }
        return body(&opened.values[index])
    }

    private func advance(_ conversation: inout Opened, to time: Timestamp) -> Refusal? {
        guard time <= now else { return .future }
        guard time >= conversation.last else { return .order }
        conversation.last = time
        return nil
    }

    // MARK: Records of an open conversation

    private func take(_ record: ImportRecord.Message, _ conversation: inout Opened) -> Refusal? {
        guard conversation.messages[record.id] == nil else { return .doubledMessage }
        guard conversation.members[record.senderId] != nil else { return .notAMember }
        if let parent = record.replyTo, conversation.messages[parent] == nil { return .unknownMessage }
        if let refusal = refusal(of: record) { return refusal }
        if let refusal = advance(&conversation, to: record.createdAt) { return refusal }
        conversation.messages[record.id] = Message(
            place: conversation.messages.count + 1, createdAt: record.createdAt, isDeleted: record.deletedAt != nil,
            poll: record.poll.map { Poll(options: $0.options.count, isMultiple: $0.multiple ?? false) })
        return nil
    }

    private func refusal(of record: ImportRecord.Message) -> Refusal? {
        if let deletedAt = record.deletedAt {
            guard deletedAt >= record.createdAt else { return .order }
            guard deletedAt <= now else { return .future }
        } else if record.attachments?.isEmpty ?? true, record.text == nil, record.sealed == nil {
            return .text
        }
        if let sealed = record.sealed {
            guard record.text == nil, record.replyTo == nil, MessageText.isSealed(sealed) else { return .sealed }
        }
        if let text = record.text, !MessageText.isValid(text) { return .text }
        if let poll = record.poll, !Self.isPoll(poll, record) { return .poll }
        return record.revisions.flatMap { refusal(of: $0, record) }
    }

    private static func isPoll(_ poll: RequestBody.NewPoll, _ record: ImportRecord.Message) -> Bool {
        record.text != nil && record.replyTo == nil && record.attachments?.isEmpty ?? true && record.forwarded == nil
            && record.revisions == nil && record.deletedAt == nil
            && 2...ContractLimits.pollOptions ~= poll.options.count && Set(poll.options).count == poll.options.count
            && poll.options.allSatisfy {
                MessageText.isValid($0) && $0.unicodeScalars.count <= ContractLimits.pollOptionCharacters
            }
    }

    private func refusal(of revisions: [ImportRecord.Revision], _ record: ImportRecord.Message) -> Refusal? {
        guard revisions.last?.text == record.text, revisions.last?.sealed == record.sealed,
            revisions.first?.at == record.createdAt
        else { return .revisions }
        let areOfOneKind = revisions.allSatisfy { ($0.text == nil) == (record.sealed != nil) }
        guard areOfOneKind, revisions.compactMap(\.sealed).allSatisfy(MessageText.isSealed) else { return .sealed }
        // What was sent with attachments and without a text may have got one by an edit.
        let hadNone = record.attachments?.isEmpty == false && revisions.first?.text == ""
        let texts = revisions.dropFirst(hadNone ? 1 : 0).compactMap(\.text)
        guard texts.allSatisfy(MessageText.isValid) else { return .text }
        let times = revisions.map(\.at)
        guard zip(times, times.dropFirst()).allSatisfy(<=) else { return .revisions }
        return times.allSatisfy { $0 <= now } ? nil : .future
    }

    private func take(_ record: ImportRecord.Tapback, _ conversation: inout Opened) -> Refusal? {
        guard let message = conversation.messages[record.messageId] else { return .unknownMessage }
        guard !message.isDeleted else { return .deletedMessage }
        guard conversation.members[record.userId] != nil else { return .notAMember }
        guard TapbackKind(record.kind.name) != nil else { return .tapback }
        return advance(&conversation, to: record.at)
    }

    private func take(_ record: ImportRecord.Vote, _ conversation: inout Opened) -> Refusal? {
        guard let message = conversation.messages[record.messageId] else { return .unknownMessage }
        guard !message.isDeleted else { return .deletedMessage }
        guard let poll = message.poll, !poll.isClosed else { return .noPoll }
        guard conversation.members[record.userId] != nil else { return .notAMember }
        let options = Set(record.options)
        guard !options.isEmpty, options.allSatisfy({ 0..<poll.options ~= $0 }), poll.isMultiple || options.count == 1
        else { return .options }
        return advance(&conversation, to: record.at)
    }

    private func take(_ record: ImportRecord.PollClosing, _ conversation: inout Opened) -> Refusal? {
        guard let message = conversation.messages[record.messageId] else { return .unknownMessage }
        guard !message.isDeleted else { return .deletedMessage }
        guard let poll = message.poll else { return .noPoll }
        // A repetition.
        guard !poll.isClosed else { return nil }
        conversation.messages[record.messageId]?.poll?.isClosed = true
        return advance(&conversation, to: record.at)
    }

    private func take(_ record: ImportRecord.MemberChange, _ conversation: inout Opened) -> Refusal? {
        // Of a direct conversation one may have been erased, which is to leave.
        guard !conversation.isDirect || record.change == .removed else { return .membership }
        let joined = conversation.members[record.userId], isMember = joined != nil
        guard isMember == (record.change != .added) else { return .membership }
        if let refusal = advance(&conversation, to: record.at) { return refusal }
        switch record.change {
        case .added: conversation.members[record.userId] = record.at
        case .removed:
            conversation.members[record.userId] = nil
            if let joined { conversation.formerStays[record.userId, default: []].append(joined...record.at) }
        case .role: break
        }
        return nil
    }

    private func take(_ record: ImportRecord.Renaming, _ conversation: inout Opened) -> Refusal? {
        guard !conversation.isDirect, Self.isTitle(record.title) else { return .title }
        return advance(&conversation, to: record.at)
    }

    /// Receipts have a stream and times of their own: those of a user are in order.
    private func take(_ record: ImportRecord.Receipt, _ conversation: inout Opened) -> Refusal? {
        guard let message = conversation.messages[record.throughMessageId] else { return .unknownMessage }
        guard record.at <= now else { return .future }
        guard record.at >= message.createdAt else { return .order }
        guard conversation.wasMember(record.userId, at: record.at) else { return .notAMember }
        var horizons = conversation.horizons[record.userId] ?? Horizons(at: record.at)
        // One that another covers says nothing.
        guard message.place > (record.kind == .read ? horizons.read : horizons.delivered) else { return nil }
        guard record.at >= horizons.at else { return .order }
        if record.kind == .read { horizons.read = message.place }
        horizons.delivered = max(horizons.delivered, message.place)
        horizons.at = record.at
        conversation.horizons[record.userId] = horizons
        return nil
    }

    private static func isTitle(_ text: String) -> Bool {
        MessageText.isValid(text) && text.unicodeScalars.count <= ContractLimits.titleCharacters
    }
}
