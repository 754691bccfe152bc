import Models
import ParleyStorage

/// Says what follows from rows that are new, or that have changed since they were noted.
struct RowPlanner {
    private let database: ChatDatabase
    private let state: FollowState
    private let chats: FollowedChats
    private let now: Timestamp
    private let rowStatement: String

    /// Steps of rows that are in no conversation: there is nothing to do but to note them.
    var homeless: [FollowStep] = []

    init(_ database: ChatDatabase, _ state: FollowState, _ chats: FollowedChats, now: Timestamp) {
        self.database = database
        self.state = state
        self.chats = chats
        self.now = now
        rowStatement = ChatRow.statement(database)
    }

    /// One step of each conversation that the row is in.
    mutating func steps(
        _ glance: RowGlance, _ known: FollowState.Row?
    ) throws -> [(FollowedChats.Conversation, FollowStep)] {
        guard let row = try row(glance.row) else { return [] }
        var found: [FollowedChats.Conversation] = []
        for chat in glance.chats.compactMap({ chats[$0] }) where !found.contains(where: { $0.id == chat.id }) {
            found.append(chat)
        }
        if found.isEmpty { noteHomeless(glance, known) }
        // Messages may put a row into its conversation after it has written it.
        let known = known?.text == FollowState.homelessText ? nil : known
        return try found.map { conversation in
            let step = try RowStep(
                row, glance, known, in: conversation, database: database, state: state, people: chats.people, now: now)
            return (conversation, try step.made())
        }
    }

    /// What is put into a conversation later looks different then.
    private mutating func noteHomeless(_ glance: RowGlance, _ known: FollowState.Row?) {
        var row = known ?? FollowState.Row(signature: 0, text: FollowState.homelessText)
        row.signature = glance.signature
        var note = FollowNote(row: (glance.id, row))
        if known == nil { note.report.count(.withoutConversation) }
        homeless.append(FollowStep(place: .row(glance.row), operations: [], note: note))
    }

    /// Creates a conversation that the system does not have; nil if it has.
    func creation(of conversation: FollowedChats.Conversation) throws -> FollowStep? {
        guard try state.conversation(conversation.id) == nil else { return nil }
        let members = conversation.chat.members.sorted()
        let title = conversation.chat.title.flatMap(MessageText.title)
        var note = FollowNote(conversation: conversation.id, chats: conversation.guids)
        note.created = FollowState.Conversation(title: title, members: members)
        let create = KeyedOperation(.create(peer: conversation.chat.peer, members: members, title: title), "create")
        return FollowStep(place: .chats(conversation.chat.chats), operations: [create], note: note)
    }

    private func row(_ number: Int64) throws -> ChatRow? {
        try database.sqlite.first(rowStatement, number) { ChatRow(number, $0) }
    }
}

/// What follows from one row in one conversation.
private struct RowStep {
    private let row: ChatRow
    private let known: FollowState.Row?
    private let conversation: FollowedChats.Conversation
    private let database: ChatDatabase
    private let state: FollowState
    private let people: ChatPeople
    private let now: Timestamp
    private let sender: UserID
    private let horizons: [FollowHorizon.Kind]
    private var note: FollowNote
    private var operations: [KeyedOperation] = []

    private static let mostParts = 16

    init(
        _ row: ChatRow, _ glance: RowGlance, _ known: FollowState.Row?, in conversation: FollowedChats.Conversation,
        database: ChatDatabase, state: FollowState, people: ChatPeople, now: Timestamp
    ) throws {
        self.row = row
        self.known = known
        self.conversation = conversation
        self.database = database
        self.state = state
        self.people = people
        self.now = now
        sender = ChatConversationReader.sender(of: row, people, conversation.chat)
        horizons = glance.receipts
        var noted = known ?? FollowState.Row(signature: 0)
        noted.signature = glance.signature
        noted.edited = max(noted.edited, glance.edited)
        note = FollowNote(row: (glance.id, noted), conversation: conversation.id, chats: conversation.guids)
    }

    func made() throws -> FollowStep {
        var step = self
        switch row.kind {
        case .message: try step.takeMessage()
        case .tapback, .tapbackRemoval: if known == nil { try step.takeTapback() }
        case .member, .left:
            if !conversation.chat.isGroup { try step.takeMessage() } else if known == nil { step.takeMembership() }
        case .title:
            if !conversation.chat.isGroup || MessageText.isBlank(row.groupTitle) {
                try step.takeMessage()
            } else if known == nil {
                step.takeTitle()
            }
        }
        return FollowStep(place: .row(row.row), operations: step.operations, note: step.note)
    }

    // MARK: Messages

    private mutating func takeMessage() throws {
        let date = AppleTime.timestamp(nanoseconds: row.nanoseconds)
        let isDated = date.map { $0 <= now } ?? false
        if known == nil, !isDated { note.report.note(date == nil ? .undated : .future, 1, row.guid) }
        var writer = ChatMessageWriter(
            database, row, conversation: conversation.id, sender: sender, at: isDated ? date! : now, now: now)
        writer.message.id = try id(of: row.guid)
        writer.message.replyTo = try parent()
        let messages = try writer.messages(&note.report)
        if let known {
            note.report = ArchiveReport()  // It said the same when the row was new.
            change(to: messages, known)
        } else {
            try send(messages, sentAt: isDated ? date : nil)
        }
        takeReceipts(messages[0].id)
    }

    private mutating func send(_ messages: [ImportRecord.Message], sentAt: Timestamp?) throws {
        let first = messages[0]
        note.message = (first.id, row.nanoseconds)
        note.isDue = true
        note.row?.row.text = first.deletedAt != nil ? FollowState.deletedText : RowGlance.digest(first.text ?? "")
        if first.deletedAt != nil {
            // Before the message, so that nobody sees a text that nobody has any more.
            operations.append(deletion(of: first.id))
            var message = first
            message.text = "[Unsent]"
            operations.append(KeyedOperation(.send(message, sentAt: sentAt), "send"))
            return note.report.count(.deleted)
        }
        for message in messages {
            var original = message
            original.text = message.revisions?.first?.text ?? message.text
            operations.append(KeyedOperation(.send(original, sentAt: sentAt), "send"))
        }
        for edit in (first.revisions ?? []).dropFirst() { operations.append(self.edit(first.id, edit)) }
        note.report.count(.message)
        try takeEarlierTapbacks(first.id)
    }

    private mutating func change(to messages: [ImportRecord.Message], _ known: FollowState.Row) {
        let message = messages[0]
        guard known.text != FollowState.deletedText else { return }
        if message.deletedAt != nil {
            note.row?.row.text = FollowState.deletedText
            return operations.append(deletion(of: message.id))
        }
        let text = message.text ?? ""
        let isEdited = (note.row?.row.edited ?? 0) > known.edited
        guard isEdited || known.text != FollowState.unknownText && known.text != RowGlance.digest(text) else { return }
        note.row?.row.text = RowGlance.digest(text)
        guard messages.count == 1 else { return note.report.note(.lateEdit, 1, row.guid) }
        let edits = (message.revisions ?? []).dropFirst().filter { $0.at.milliseconds > known.edited }
        if edits.isEmpty {
            operations.append(edit(message.id, .init(text: text, at: Timestamp(milliseconds: 0))))
        }
        for edit in edits { operations.append(self.edit(message.id, edit)) }
    }

    private func edit(_ id: MessageID, _ revision: ImportRecord.Revision) -> KeyedOperation {
        let text = revision.text ?? ""
        return KeyedOperation(.edit(id, text: text, by: sender), "edit", row.guid, "\(revision.at.milliseconds)", text)
    }

    private func deletion(of id: MessageID) -> KeyedOperation {
        KeyedOperation(.deleteForEveryone(id, by: sender), "delete", row.guid)
    }

    /// As an import names the parent.
    private func parent() throws -> MessageID? {
        guard let guid = row.threadGUID ?? row.target?.guid, !guid.isEmpty else { return nil }
        return try id(of: guid)
    }

    /// Live messages have ids as clients choose them; an import takes any.
    private func id(of guid: String) throws -> MessageID {
        let id = ArchiveID.message(guid)
        guard ![4, 7].contains(id.uuid.version) else { return id }
        let isImported = try state.row(id.uuid)?.text == FollowState.unknownText
        return isImported ? id : ArchiveID.liveMessage(guid)
    }

    private mutating func takeReceipts(_ id: MessageID) {
        guard row.nanoseconds > 0 else { return }
        let horizon = FollowHorizon(date: row.nanoseconds, message: id)
        note.horizons = horizons.map { ($0, horizon) }
        if !horizons.isEmpty { note.isDue = true }
    }

    // MARK: Tapbacks

    private mutating func takeTapback() throws {
        guard let target = row.target else { return note.report.count(.unknownTapback) }
        if case .tapback(.none) = row.kind { return note.report.count(.unreadableTapback) }
        // One that comes before its message is set with it.
        guard try isInSource(target.guid) else { return note.report.count(.unknownTapback) }
        if case .tapback = row.kind { note.report.count(.tapback) } else { note.report.count(.tapbackRemoval) }
        let standing = try tapbacks(on: target.guid)[sender] ?? nil
        operations.append(try tapback(on: target.guid, by: sender, standing, because: row.guid))
    }

    /// Tapbacks that came into the file before their message.
    private mutating func takeEarlierTapbacks(_ id: MessageID) throws {
        for (user, tapback) in try tapbacks(on: row.guid).sorted(by: { $0.key < $1.key }) {
            guard let tapback, try state.row(ArchiveID.message(tapback.guid).uuid) != nil else { continue }
            operations.append(try self.tapback(on: row.guid, by: user, tapback, because: tapback.guid))
        }
    }

    private func isInSource(_ guid: String) throws -> Bool {
        try database.sqlite.first("SELECT 1 FROM message WHERE guid = ?", guid) { _ in true } ?? false
    }

    private func tapback(
        on guid: String, by user: UserID, _ tapback: Standing?, because of: String
    ) throws -> KeyedOperation {
        KeyedOperation(
            .tapback(try id(of: guid), tapback?.kind, by: user), "tapback", of, tapback.map { $0.kind.name } ?? "")
    }

    private struct Standing {
        let kind: TapbackKind
        let guid: String
    }

    /// The tapback of each user who ever had one there; nil if it was taken back. Of several on different parts the last
    /// one stands.
    private func tapbacks(on guid: String) throws -> [UserID: Standing?] {
        let names = [guid, "bp:\(guid)"] + (0..<Self.mostParts).map { "p:\($0)/\(guid)" }
        let column = database.column("message", "associated_message_guid")
        let numbers = try database.sqlite.all(
            """
            SELECT ROWID FROM message WHERE \(column) IN (SELECT value FROM json_each(?))
            ORDER BY \(AppleTime.nanoseconds(database.column("message", "date"))), ROWID
            """, "[\(names.map { "\"\($0.filter { $0 != "\"" && $0 != "\\" })\"" }.joined(separator: ","))]",
            read: { $0.integer(0) })
        var standing: [UserID: [String: Standing]] = [:]
        var order: [UserID: [String]] = [:]
        let statement = ChatRow.statement(database)
        for number in numbers {
            guard let row = try database.sqlite.first(statement, number, read: { ChatRow(number, $0) }),
                let name = row.associatedGUID
            else { continue }
            let user = ChatConversationReader.sender(of: row, people, conversation.chat)
            standing[user, default: [:]][name] = nil
            order[user, default: []].removeAll { $0 == name }
            if case .tapback(let kind?) = row.kind {
                standing[user, default: [:]][name] = Standing(kind: kind, guid: row.guid)
                order[user, default: []].append(name)
            }
        }
        return standing.reduce(into: [:]) { result, entry in
            result[entry.key] = .some(order[entry.key]?.last.flatMap { entry.value[$0] })
        }
    }

    // MARK: Groups

    private mutating func takeMembership() {
        guard let change = ChatConversationReader.change(row, sender: sender, people) else { return }
        note.report.count(.membership)
        note.change = change
        let actor = sender == ChatPeople.unknown ? people.me : sender
        operations.append(
            change.isAdded
                ? KeyedOperation(.add(change.user, by: actor), "add", row.guid)
                : KeyedOperation(.remove(change.user, by: actor), "remove", row.guid))
    }

    private mutating func takeTitle() {
        let title = MessageText.cut(row.groupTitle)
        if title != row.groupTitle { note.report.note(.cutTitle, 1, title) }
        note.report.count(.renaming)
        note.title = title
        operations.append(
            KeyedOperation(
                .rename(title, by: sender == ChatPeople.unknown ? people.me : sender), "rename", row.guid))
    }
}
