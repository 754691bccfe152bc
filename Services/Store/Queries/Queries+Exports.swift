import Bytes
import Models
import Postgres
import Reactor
import Wire

// Conversations as records of an import, in pieces. They are heavy turns, of which light ones never wait.
extension Queries {
    /// The next conversations of a user.
    func exportedConversations(_ query: ExportedConversations) async throws -> [UInt8] {
        let rows = try await connection.query(ExportStatements.conversations, .heavy) { parameters, input in
            parameters.set(input.user, to: query.user)
            parameters.set(input.after, to: query.after)
            parameters.set(input.limit, to: Int64(ExportStatements.conversationsPerPage))
        }
        var buffer = ByteBuffer()
        for row in rows { buffer.append(row[ExportStatements.conversations.columns.conversationId]) }
        return buffer.array
    }

    /// `ExportHead`
    func exportHead(_ query: ExportHeadQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ExportStatements.head, .heavy) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.reader, to: query.reader)
        }
        let columns = ExportStatements.head.columns
        guard let row = rows.first else { throw Problem.unknownConversation }
        guard !row[columns.isOpen] else {
            throw Problem(.conflict, "the import of this conversation has not ended")
        }
        let creator = row[columns.creatorId]
        let members = Set(row[columns.members] + (try await erasedFirstMembers(of: query.conversation)))
        let opening = ImportRecord.Conversation(
            kind: row[columns.kind], createdAt: row[columns.createdAt], title: row[columns.title] ?? "",
            members: members.sorted { ($0 != creator ? 1 : 0, $0) < ($1 != creator ? 1 : 0, $1) })
        let head = ExportHead(
            lastSeq: row[columns.lastSeq], opening: opening,
            stays: zip(row[columns.firstSeqs], row[columns.lastSeqs]).map { $0...$1 })
        var buffer = ByteBuffer()
        head.write(to: &buffer)
        return buffer.array
    }

    /// `ExportPage`
    func exportPage(_ query: ExportPageQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ExportStatements.page, .heavy) { parameters, input in
            parameters.set(input.head.key, to: query.conversation)
            parameters.set(input.head.reader, to: query.reader)
            parameters.set(input.withMessages, to: query.part == .everything)
            parameters.set(input.after, to: query.after)
            parameters.set(input.through, to: min(query.through, query.state))
            parameters.set(input.state, to: query.state)
        }
        let columns = ExportStatements.page.columns
        guard let first = rows.first else { throw Problem.unknownConversation }
        let covered = first[columns.covered]
        // What was read before the stale record is exported first, so that there is the less that may not change.
        let isStuck = first[columns.isStale] && covered == query.after
        var buffer = ByteBuffer()
        ExportPage.writeHead(
            state: isStuck ? try await laterState(query) : query.state, covered: covered,
            stayCount: first[columns.stayCount], viewEnd: first[columns.viewEnd], to: &buffer)
        ExportRows(rows, columns).append(of: query.part, to: &buffer)
        return buffer.array
    }

    /// `ExportedReceipt`s
    func exportReceipts(_ query: ExportReceiptsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ExportStatements.receipts, .heavy) { parameters, input in
            parameters.set(input.head.key, to: query.conversation)
            parameters.set(input.head.reader, to: query.reader)
            parameters.set(input.state, to: query.state)
            parameters.set(input.user, to: query.after?.user.name ?? "")
            parameters.set(input.delivered, to: query.after?[.delivered] ?? 0)
            parameters.set(input.read, to: query.after?[.read] ?? 0)
            parameters.set(input.both, to: query.after?[.both] ?? 0)
            parameters.set(input.limit, to: Int64(ExportStatements.receiptsPerPage))
        }
        let columns = ExportStatements.receipts.columns
        var buffer = ByteBuffer()
        for row in rows {
            guard let run = ExportedReceipt.Run(rawValue: UInt8(row[columns.kind])) else { continue }
            // A message may have a later time than the clock had that the receipt came by.
            let at = max(row[columns.at], row[columns.createdAt] ?? row[columns.at])
            ExportedReceipt(
                user: row[columns.userId], run: run, seq: row[columns.seq], message: row[columns.messageId], at: at
            ).write(to: &buffer)
        }
        return buffer.array
    }

    /// The first members who were erased, and their stays with them. Whoever left without having joined was there from
    /// the beginning. Changes of members are read page by page, however many there are.
    private func erasedFirstMembers(of conversation: ConversationID) async throws -> [UserID] {
        var came: Set<UserID> = []
        var members: [UserID] = []
        var covered: Int64 = 0
        repeat {
            let rows = try await connection.query(ExportStatements.erasedMembers, .heavy) { parameters, input in
                parameters.set(input.key, to: conversation)
                parameters.set(input.after, to: covered)
                parameters.set(input.limit, to: Int64(ExportStatements.memberChangesPerPage))
            }
            let columns = ExportStatements.erasedMembers.columns
            guard let first = rows.first else { break }
            covered = first[columns.covered]
            for row in rows {
                guard let user = row[columns.userId], came.insert(user).inserted else { continue }
                if row[columns.kind] == Int16(ChangeKind.memberRemoved.rawValue) { members.append(user) }
            }
        } while covered < .max
        return members
    }

    private func laterState(_ query: ExportPageQuery) async throws -> Int64 {
        let rows = try await connection.query(ExportStatements.state, .heavy) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.after, to: query.after)
            parameters.set(input.state, to: query.state)
        }
        guard let state = rows.first?[ExportStatements.state.columns.state], state > query.state else {
            throw Problem(.conflict, "what is exported has changed meanwhile")
        }
        return state
    }
}

/// The rows of a page as records. A message has a row for each of its texts.
private struct ExportRows {
    private let rows: Rows
    private let columns: ExportStatements.PageColumns

    init(_ rows: Rows, _ columns: ExportStatements.PageColumns) {
        self.rows = rows
        self.columns = columns
    }

    func append(of part: ExportPageQuery.Part, to buffer: inout ByteBuffer) {
        var index = 0
        while index < rows.count {
            let row = rows[index]
            guard let seq = row[columns.seq], let kind = ChangeKind(rawValue: UInt8(row[columns.kind])) else { return }
            var end = index + 1
            while end < rows.count, kind == .messageCreated, rows[end][columns.seq] == seq { end += 1 }
            append(kind, rows[index..<end], at: seq, part, to: &buffer)
            index = end
        }
    }

    private func append(
        _ kind: ChangeKind, _ group: Slice<Rows>, at seq: Int64, _ part: ExportPageQuery.Part,
        to buffer: inout ByteBuffer
    ) {
        guard let row = group.first else { return }
        switch kind {
        case .messageCreated: ExportPage.append(message(row, group), at: seq, to: &buffer)
        case .tapbackSet:
            guard part != .changes, let tapback = tapback(row) else { return }
            ExportPage.append(tapback, at: seq, to: &buffer)
        case .pollVoted:
            guard part != .changes, let vote = vote(row) else { return }
            ExportPage.append(vote, at: seq, to: &buffer)
        case .pollClosed:
            guard part != .changes, row[columns.isClosing] == true, let poll = row[columns.messageId] else { return }
            let closing = ImportRecord.PollClosing(of: poll, at: row[columns.at], by: row[columns.actorId])
            ExportPage.append(.pollClosed(closing), at: seq, to: &buffer)
        case .memberAdded, .memberRemoved, .memberChanged:
            guard part != .tapbacks, let user = row[columns.userId] else { return }
            append(kind, of: user, row, at: seq, to: &buffer)
        case .conversationRenamed:
            guard part != .tapbacks, let title = row[columns.title] else { return }
            let renaming = ImportRecord.Title(title, at: row[columns.at], by: row[columns.actorId])
            ExportPage.append(.title(renaming), at: seq, to: &buffer)
        case .conversationCreated, .messageEdited, .messageDeleted, .tapbackRemoved, .permissionsChanged,
            .messagePinned, .messageUnpinned, .lifetimeChanged, .historyTrimmed:
            return
        }
    }

    /// Who comes as an owner comes, and gets the role.
    private func append(_ kind: ChangeKind, of user: UserID, _ row: Row, at seq: Int64, to buffer: inout ByteBuffer) {
        func append(_ kind: ChangeKind) {
            let change = ImportRecord.MemberChange(kind, of: user, at: row[columns.at], by: row[columns.actorId])
            ExportPage.append(.member(change), at: seq, to: &buffer)
        }
        append(kind)
        if kind == .memberAdded, row[columns.role] == Int16(MemberRole.owner.rawValue) { append(.memberChanged) }
    }

    private func tapback(_ row: Row) -> ImportRecord? {
        guard let kind = row[columns.tapback], let message = row[columns.messageId] else { return nil }
        return .tapback(.init(message: message, user: row[columns.actorId], kind: kind, at: row[columns.at]))
    }

    private func vote(_ row: Row) -> ImportRecord? {
        guard let options = row[columns.vote], options > 0, let message = row[columns.messageId] else { return nil }
        return .vote(
            .init(
                message: message, user: row[columns.actorId], options: PollOptions(bits: UInt16(options)),
                at: row[columns.at]))
    }

    private func message(_ row: Row, _ group: Slice<Rows>) -> ImportRecord {
        guard let id = row[columns.messageId] else { preconditionFailure("a message has an id") }
        let texts = group.compactMap { text -> ImportRecord.Message.Text? in
            guard let body = text[columns.body], let at = text[columns.bodyAt] else { return nil }
            return ImportRecord.Message.Text(body, at: at)
        }
        return .message(
            .init(
                id: id, sender: row[columns.actorId], replyTo: row[columns.replyTo], createdAt: row[columns.at],
                deletedAt: row[columns.deletedAt], texts: texts,
                attachments: row[columns.attachments] ?? .init(start: nil, count: 0),
                extra: row[columns.extra] ?? .init(start: nil, count: 0),
                isSealed: !texts.isEmpty && row[columns.isSealed] == true,
                forwarded: row[columns.forwardedBy].map {
                    Forwarded(userId: $0, sentAt: row[columns.forwardedAt])
                },
                poll: row[columns.isMultiple].map { NewPoll(options: row[columns.options], isMultiple: $0) }))
    }
}
