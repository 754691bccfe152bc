import Bytes
import JSON
import Models
import Postgres
import Wire

// Conversations and their members.
extension Queries {
    /// `Conversation`
    func conversation(_ query: ConversationQuery) async throws -> [UInt8] {
        let rows = try await conversations([query.conversation], of: query.reader)
        let listed = try await completed(rows.map { ListedConversation($0) }, of: query.reader)
        defer { extendLifetime((rows, listed)) }  // The texts point into them.
        guard let conversation = listed.first else { throw Problem.unknownConversation }
        let receipts = try await receipts(of: [conversation].compactMap(\.message), for: query.reader)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.append(conversation, receipts)
        return buffer.array
    }

    /// `{conversations, nextCursor?}`
    func list(_ query: ListConversations) async throws -> [UInt8] {
        try await refuseErased(query.reader)
        let page = try await latestConversations(query)
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "conversations")
        buffer.append(page.json)
        if page.hasMore, let last = page.conversations.last {
            let cursor = ActivityCursor(lastActivityAt: last.lastActivityAt, conversation: last.id)
            buffer.append(key: "nextCursor", json: cursor.text)
        }
        buffer.endObject()
        return buffer.array
    }

    /// Returns `[Conversation]`, latest activity first, and the fields of each.
    private func latestConversations(_ query: ListConversations) async throws -> ConversationPage {
        try await conversations(latestRows(query), of: query.reader, limit: Int(query.limit))
    }

    private func latestRows(_ query: ListConversations) async throws -> Rows {
        try await connection.query(ConversationStatement.list, .heavy) { parameters, input in
            ConversationStatement.set(query, of: input, in: &parameters)
        }
    }

    /// `{conversations, messages, mentions, more}`: as much work as the longest page of the list, whose conversations it counts.
    func unreadTotal(_ query: SettingsQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let limit = Int(ContractLimits.conversationsPerPage)
        let rows = try await latestRows(ListConversations(reader: query.user, limit: UInt16(limit), before: .start))
        let listed = try await completed(listed(Array(rows.prefix(limit)), of: query.user), of: query.user)
        let counted = listed.map(\.conversation).filter { $0.isUnread && !$0.isMuted && !$0.isArchived }
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "conversations", json: counted.count)
        buffer.append(key: "messages", json: counted.reduce(0) { $0 + $1.unreadCount })
        buffer.append(key: "mentions", json: counted.reduce(0) { $0 + $1.unreadMentions })
        buffer.append(key: "more", json: rows.count > limit)
        buffer.endObject()
        return buffer.array
    }

    typealias ConversationPage = (json: [UInt8], conversations: [ConversationFields], hasMore: Bool)

    /// Returns `[Conversation]` from the rows of a statement that selects one more than `limit` if there are more; fewer where a page
    /// is full of long texts.
    func conversations(_ rows: Rows, of reader: UserID, limit: Int) async throws -> ConversationPage {
        let listed = try await completed(listed(Array(rows.prefix(limit)), of: reader), of: reader)
        defer { extendLifetime((rows, listed)) }  // The texts point into them.
        let receipts = try await receipts(of: listed.compactMap(\.message), for: reader)
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginArray()
        var written = 0
        for conversation in listed where buffer.count < ContractLimits.pageBytes {
            buffer.beginElement()
            buffer.append(conversation, receipts)
            written += 1
        }
        buffer.endArray()
        return (buffer.array, listed.prefix(written).map(\.conversation), rows.count > limit || written < listed.count)
    }

    /// Decodes rows of {member_conversation}. Those that are not whole are read again, and keep their place in the list.
    private func listed(_ rows: [Row], of reader: UserID) async throws -> [ListedConversation] {
        let columns = ConversationStatement.list.columns
        let partial = rows.filter { !$0[columns.isWhole] }.map { $0[columns.conversation.conversationId] }
        guard !partial.isEmpty else { return rows.map { ListedConversation($0) } }
        let whole = try await conversations(partial, of: reader)
        let wholeByID = Dictionary(uniqueKeysWithValues: whole.map { ($0[columns.conversation.conversationId], $0) })
        return rows.compactMap { row in
            if row[columns.isWhole] { return ListedConversation(row) }
            return wholeByID[row[columns.conversation.conversationId]].map {
                ListedConversation($0, of: whole, shownAt: row[columns.conversation.shownAt])
            }
        }
    }

    func conversations(_ ids: [ConversationID], of reader: UserID) async throws -> Rows {
        try await connection.query(ConversationStatement.byID) { parameters, input in
            ConversationStatement.set(ids, for: reader, of: input, in: &parameters)
        }
    }

    /// Adds what lies too far back for the statements.
    func completed(_ listed: [ListedConversation], of reader: UserID) async throws -> [ListedConversation] {
        var listed = listed
        var budget = UnreadWalk.Budget()
        try await countUnread(&listed, of: reader, &budget)
        try await countMentions(&listed, of: reader)
        for index in listed.indices where listed[index].latestRest != nil {
            try await findLatest(&listed[index], of: reader, &budget)
        }
        for index in listed.indices { listed[index].decideArchived() }
        return listed
    }

    private func countUnread(
        _ listed: inout [ListedConversation], of reader: UserID, _ budget: inout UnreadWalk.Budget
    ) async throws {
        let pending = listed.indices.filter { listed[$0].unreadRest != nil }
        guard !pending.isEmpty else { return }
        var walks = pending.map {
            BlockWalk(.unread, of: listed[$0].conversation, for: reader, before: listed[$0].unreadRest!)
        }
        try await unread.finish(&walks, for: reader, &budget)
        for (index, walk) in zip(pending, walks) { listed[index].conversation.unreadCount = walk.count }
    }

    /// Among what is unread: so for most conversations of a list nothing is asked.
    private func countMentions(_ listed: inout [ListedConversation], of reader: UserID) async throws {
        let pending = listed.indices.filter { listed[$0].conversation.unreadCount > 0 }
        let counts = try await unread.mentions(in: pending.map { listed[$0].conversation }, of: reader)
        for (index, count) in zip(pending, counts) { listed[index].conversation.unreadMentions = count }
    }

    private func findLatest(
        _ listed: inout ListedConversation, of reader: UserID, _ budget: inout UnreadWalk.Budget
    ) async throws {
        let conversation = listed.conversation
        let walk = BlockWalk(.latest, of: conversation, for: reader, before: listed.latestRest!)
        guard let seq = try await unread.latest(walk, for: reader, &budget) else { return }
        let rows = try await connection.query(WholeMessages.statement) { parameters, input in
            let head = ConversationQuery(conversation.id, reader: reader)
            WholeMessages.set(head, seqs: [seq], asOf: conversation.lastSeq, of: input, in: &parameters)
        }
        if let row = rows.first { listed.take(row, of: rows) }
    }

    /// `{members: [{userId, role, joinedSeq, deliveredSeq, readSeq}], nextCursor?}`
    func members(_ query: MembersQuery) async throws -> [UInt8] {
        let rows = try await connection.query(MembersStatement.page) { parameters, input in
            MembersStatement.set(query, of: input, in: &parameters)
        }
        guard !rows.isEmpty else { throw Problem.unknownConversation }
        let limit = Int(query.limit)
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "members")
        buffer.beginArray()
        let columns = MembersStatement.columns
        for row in rows.prefix(limit) where !row.isNull(columns.userId) {
            buffer.beginElement()
            buffer.append(member: row)
        }
        buffer.endArray()
        if rows.count > limit { buffer.append(key: "nextCursor", json: rows[limit - 1][columns.userId]) }
        buffer.endObject()
        return buffer.array
    }

    /// `{userId, role, joinedSeq, deliveredSeq, readSeq}` of one member.
    func member(_ user: UserID, _ head: ConversationQuery) async throws -> [UInt8] {
        let rows = try await connection.query(MembersStatement.single) { parameters, input in
            parameters.set(input.head, to: head)
            parameters.set(input.user, to: user)
        }
        guard let row = rows.first else { throw Problem(.notFound, "there is no such member") }
        var buffer = ByteBuffer()
        buffer.append(member: row)
        return buffer.array
    }
}

/// A row of the list. The texts of its message live as long as the row, or the rows that it was later found in.
struct ListedConversation {
    var conversation: ConversationFields
    private(set) var message: MessageFields?
    private(set) var parent: ParentView
    /// The lowest position that was looked at, if there are earlier ones.
    let unreadRest: Int64?
    let latestRest: Int64?
    private var laterRows: Rows?

    /// - Parameters:
    ///   - rows: what has the row, unless the caller keeps it.
    ///   - shownAt: the activity by which the list is in order, if the row was read later.
    init(_ row: Row, of rows: Rows? = nil, shownAt: Timestamp? = nil) {
        let columns = ConversationStatement.columns
        laterRows = rows
        conversation = ConversationFields(row)
        if let shownAt { conversation.lastActivityAt = shownAt }
        message = MessageFields(row, columns.message.message, in: conversation.id)
        parent = ParentView(row, columns.message)
        let isCounted = conversation.unreadCount == UnreadStatement.limit
        unreadRest = isCounted ? nil : row[columns.unreadRest]
        latestRest = row[columns.latestRest]
    }

    /// Decides whether it is archived, when its latest message is known: a later one brings it back, unless it is muted.
    mutating func decideArchived() {
        guard let through = conversation.marks.archivedSeq else { return }
        conversation.isArchived = conversation.isMuted || message?.seq ?? 0 <= through
    }

    mutating func take(_ row: Row, of rows: Rows) {
        let columns = WholeMessages.statement.columns
        message = MessageFields(row, columns.message, in: conversation.id)
        parent = ParentView(row, columns)
        laterRows = rows
    }
}

extension ByteBuffer {
    mutating func append(_ listed: ListedConversation, _ receipts: [Queries.MessageKey: Receipts]) {
        append(
            listed.conversation,
            lastMessage: listed.message.map { message in
                { $0.append(message, parent: listed.parent, receipts: receipts[Queries.MessageKey(message)]) }
            })
    }

    fileprivate mutating func append(member row: Row) {
        let columns = MembersStatement.columns
        beginObject()
        append(key: "userId", json: row[columns.userId])
        append(key: "role", json: row[columns.role].name)
        append(key: "joinedSeq", json: row[columns.joinedSeq])
        append(key: "deliveredSeq", json: row[columns.deliveredSeq])
        append(key: "readSeq", json: row[columns.readSeq])
        endObject()
    }
}
