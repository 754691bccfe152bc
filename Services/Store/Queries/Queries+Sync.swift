import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

extension Queries {
    /// The number of conversations, and of private changes, in one response to `sync`.
    static let syncConversations = 200
    static let syncPrivateChanges: UInt32 = 500
    /// A cursor this many transactions old gets all conversations, because transaction numbers compare only within half
    /// their space.
    nonisolated static let oldestTransaction: Int64 = 1 << 30

    /// `{conversations, private, reload?, cursor, more}`
    ///
    /// If the private changes after a cursor are no longer kept, the sync starts over with all conversations, and the
    /// response says so.
    ///
    /// The position is read before the contents, so anything that changes in between is sent again with the next
    /// cursor.
    func sync(_ query: SyncQuery) async throws -> [UInt8] {
        if let reads = connection.reads { return try await syncOfNodes(query, reads) }
        try await refuseErased(query.user)
        var cursor = try await begin(query)
        let privately = try await privateChanges(of: query.user, after: query.since?.useq, &cursor)
        let changed = try await changedConversations(of: query.user, &cursor)
        return Self.page(changed, privately, cursor)
    }

    private static func page(
        _ changed: (json: [UInt8], hasMore: Bool), _ privately: PrivateChanges, _ cursor: SyncCursor
    ) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "conversations")
        buffer.append(changed.json)
        buffer.append(key: "private")
        buffer.append(privately.json)
        if privately.isReload { buffer.append(key: "reload", json: true) }
        buffer.append(key: "cursor", json: cursor.text)
        buffer.append(key: "more", json: changed.hasMore || privately.hasMore)
        buffer.endObject()
        return buffer.array
    }

    // MARK: Nodes

    /// The same where the slots are on several nodes, each with numbers of transactions of its own (`SyncRound`).
    private func syncOfNodes(_ query: SyncQuery, _ reads: ShardReads) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let rows = try await connection.query(SyncStatement.position) { $0.set($1, to: query.user) }
        let columns = SyncStatement.position.columns
        guard let row = rows.first else { throw Problem(.unavailable, "the deployment is not set up") }
        var cursor =
            query.since
            ?? SyncCursor(
                logID: row[columns.logId], useq: row[columns.lastUseq], transaction: 0, nextTransaction: 0,
                after: ConversationID(.zero))
        guard cursor.logID == row[columns.logId], cursor.useq <= row[columns.lastUseq] else {
            throw Problem(.conflict, "since: from a history that was replaced by a restored one: start anew without it")
        }
        let positions = try await reads.nodePositions(of: query.user)
        cursor.nodes = SyncRound.nodes(cursor, positions.values)
        let privately = try await privateChanges(of: query.user, after: query.since?.useq, &cursor)
        // Everything is due anew.
        if privately.isReload { cursor.nodes = SyncRound.nodes(cursor, positions.values, isAnew: true) }
        let round = SyncRound(cursor.nodes!, groups: positions.mapValues(\.group))
        let changed = try await SyncRound.$current.withValue(round) {
            try await changedConversations(of: query.user, &cursor)
        }
        if !changed.hasMore { cursor.nodes = SyncRound.next(cursor) }
        return Self.page(changed, privately, cursor)
    }

    // MARK: Parts of a response

    /// The cursor that the response starts from. Within a round its snapshot stays that of the first page.
    private func begin(_ query: SyncQuery) async throws -> SyncCursor {
        let rows = try await connection.query(SyncStatement.position) { $0.set($1, to: query.user) }
        let columns = SyncStatement.position.columns
        guard let row = rows.first else { throw Problem(.unavailable, "the deployment is not set up") }
        let present = SyncCursor(
            logID: row[columns.logId], useq: row[columns.lastUseq], transaction: 0,
            nextTransaction: row[columns.transaction], after: ConversationID(.zero))
        guard var cursor = query.since else { return present }
        guard cursor.logID == present.logID, cursor.useq <= present.useq else {
            throw Problem(.conflict, "since: from a history that was replaced by a restored one: start anew without it")
        }
        // Of several nodes: the database was another one then.
        if cursor.nodes != nil { cursor.beginAnew(useq: cursor.useq) }
        cursor.nodes = nil
        if cursor.after.uuid == .zero { cursor.nextTransaction = present.nextTransaction }
        if present.nextTransaction - cursor.transaction > Self.oldestTransaction { cursor.transaction = 0 }
        return cursor
    }

    private func privateChanges(
        of user: UserID, after useq: Int64?, _ cursor: inout SyncCursor
    ) async throws -> PrivateChanges {
        guard let useq else { return PrivateChanges() }
        let feed = PrivateReplayQuery(user, after: useq, limit: Self.syncPrivateChanges)
        let rows = try await connection.query(PrivateFeedStatement.statement) { parameters, input in
            PrivateFeedStatement.set(feed, of: input, in: &parameters)
        }
        let last = rows.first.map(PrivateFeedStatement.lastUseq) ?? 0
        if PrivateFeedStatement.isTooOld(useq, rows) {
            cursor.beginAnew(useq: last)
            return PrivateChanges(isReload: true)
        }
        var buffer = ByteBuffer()
        buffer.beginArray()
        for change in rows.lazy.compactMap(PrivateChangeFields.init) where buffer.count < ContractLimits.pageBytes {
            buffer.beginElement()
            buffer.append(change)
            cursor.useq = change.useq
        }
        buffer.endArray()
        return PrivateChanges(json: buffer.array, hasMore: cursor.useq < last)
    }

    /// The private changes of one response.
    private struct PrivateChanges {
        var json = Array("[]".utf8)
        var hasMore = false
        /// There are more changes than can be sent one by one.
        var isReload = false
    }

    private func changedConversations(
        of user: UserID, _ cursor: inout SyncCursor
    ) async throws -> (json: [UInt8], hasMore: Bool) {
        let rows = try await connection.query(ConversationStatement.changed, .heavy) { parameters, input in
            ConversationStatement.set(
                user, since: cursor.transaction, after: cursor.after, limit: Self.syncConversations + 1, of: input,
                in: &parameters)
        }
        let page = try await conversations(rows, of: user, limit: Self.syncConversations)
        if page.hasMore, let last = page.conversations.last {
            cursor.after = last.id
        } else {
            cursor.transaction = cursor.nextTransaction
            cursor.after = ConversationID(.zero)
        }
        return (page.json, page.hasMore)
    }
}

extension SyncCursor {
    /// Makes all conversations due, from the first one on.
    fileprivate mutating func beginAnew(useq: Int64) {
        self.useq = useq
        transaction = 0
        after = ConversationID(.zero)
    }
}
