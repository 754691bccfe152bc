import Bytes
import JSON
import Models
import Postgres
import Reactor
import Slots
import Wire

// Changes by position, for clients that page through a gap and for the sessions and streams of fanout.
extension Queries {
    /// `{changes, lastSeq, more}`
    func changes(_ query: AfterPositionQuery) async throws -> [UInt8] {
        // One more row shows whether there are more.
        let limit = Int(query.limit)
        let rows = try await FeedStatement.changes(query, limit: limit + 1, on: connection)
        guard let first = rows.first else { throw Problem.unknownConversation }
        var buffer = ByteBuffer(capacity: 4096)
        buffer.beginObject()
        buffer.append(key: "changes")
        buffer.beginArray()
        var written = 0
        for change in rows.lazy.compactMap({ ChangeFields($0, conversation: query.head.conversation) }).prefix(limit) {
            guard written == 0 || buffer.count < ContractLimits.pageBytes else { break }
            buffer.beginElement()
            buffer.append(change)
            written += 1
        }
        buffer.endArray()
        buffer.append(key: "lastSeq", json: FeedStatement.lastSeq(first))
        buffer.append(key: "more", json: !FeedStatement.isEmpty(first) && written < rows.count)
        buffer.endObject()
        return buffer.array
    }

    func replay(_ query: ReplayQuery) async throws -> [UInt8] {
        let rows = try await FeedStatement.replay(query, on: connection)
        guard let first = rows.first else { throw Problem.unknownConversation }
        var buffer = ByteBuffer(capacity: 4096)
        buffer.append(bigEndian: FeedStatement.lastSeq(first))
        for row in rows where buffer.count < ContractLimits.pageBytes {
            guard let change = ChangeFields(row, conversation: query.conversation) else { continue }
            change.writeEntry(about: FeedStatement.user(row), to: &buffer)
        }
        return buffer.array
    }

    func privateReplay(_ query: PrivateReplayQuery) async throws -> [UInt8] {
        let rows = try await connection.query(PrivateFeedStatement.statement) { parameters, input in
            PrivateFeedStatement.set(query, of: input, in: &parameters)
        }
        var buffer = ByteBuffer()
        buffer.append(bigEndian: rows.first.map(PrivateFeedStatement.lastUseq) ?? 0)
        for row in rows where buffer.count < ContractLimits.pageBytes {
            guard let change = PrivateChangeFields(row) else { continue }
            change.write(to: &buffer, of: query.user, joinedAfter: PrivateFeedStatement.start(row))
        }
        return buffer.array
    }

    /// The number of conversations in `welcome`.
    static let welcomeConversations: UInt16 = 100

    /// Reads everything in one round trip, because a reconnecting crowd sends nothing else, and in one snapshot. If a
    /// stay had ended by a later snapshot, a session would be sent changes from after its end.
    func bootstrap(_ query: BootstrapQuery) async throws -> [UInt8] {
        let listing = ListConversations(reader: query.user, limit: Self.welcomeConversations, before: .start)
        let results = try await connection.transaction(.heavy) { batch in
            batch.execute(ErasureStatements.isErased) { $0.set($1, to: query.user) }
            batch.execute(BootstrapStatement.statement) { $0.set($1, to: query.user) }
            batch.execute(ConversationStatement.list) { parameters, input in
                ConversationStatement.set(listing, of: input, in: &parameters)
            }
            batch.execute(BlocksStatement.statement) { $0.set($1, to: query.user) }
        }
        guard results[0].isEmpty else { throw Problem.erasedUser }
        let rows = results[1]
        guard let first = rows.first else { throw Problem(.unavailable, "the deployment is not set up") }
        let stays = try await staysByTurns(rows)
        let latest = try await conversations(results[2], of: query.user, limit: Int(Self.welcomeConversations))
        await Reactor.sleep(for: .zero)
        let columns = BootstrapStatement.statement.columns
        var buffer = ByteBuffer(capacity: 4096)
        Bootstrap(
            logID: first[columns.logId], serverTime: first[columns.serverTime], useq: first[columns.lastUseq],
            hasMore: latest.hasMore, stays: stays,
            conversations: latest.json, showsPresence: first[columns.showsPresence],
            firstUseq: first[columns.firstUseq], blocked: results[3].map { $0[BlocksStatement.columns.blockedId] }
        ).write(to: &buffer)
        return buffer.array
    }

    /// The number of rows read in a turn, about a millisecond's work. A user may have very many conversations.
    private static let staysPerTurn = 2_000

    private func staysByTurns(_ rows: Rows) async throws -> [Bootstrap.Stay] {
        var stays: [Bootstrap.Stay] = []
        stays.reserveCapacity(rows.count)
        for (index, row) in rows.enumerated() {
            if index > 0, index % Self.staysPerTurn == 0 { await Reactor.sleep(for: .zero) }
            if let stay = BootstrapStatement.stay(row) { stays.append(stay) }
        }
        return stays
    }

    func positions(_ held: StreamPositions) async throws -> [UInt8] {
        var conversations: [Slot: [(ConversationID, Int64)]] = [:]
        var users: [Slot: [(UserID, Int64)]] = [:]
        for position in held.positions {
            switch position.key {
            case .conversation(let conversation):
                conversations[conversation.slot, default: []].append((conversation, position.position))
            case .user(let user): users[user.slot, default: []].append((user, position.position))
            }
        }
        var ahead: [StreamPosition] = []
        for (slot, held) in conversations {
            let rows = try await connection.query(PositionsStatement.conversations) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.conversations, to: held.lazy.map(\.0))
                parameters.set(input.seqs, to: held.lazy.map(\.1))
            }
            let columns = PositionsStatement.conversations.columns
            ahead += rows.map { StreamPosition(.conversation($0[columns.id]), $0[columns.lastSeq]) }
        }
        for (slot, held) in users {
            let rows = try await connection.query(PositionsStatement.users) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.users, to: held.lazy.map(\.0))
                parameters.set(input.useqs, to: held.lazy.map(\.1))
            }
            let columns = PositionsStatement.users.columns
            ahead += rows.map { StreamPosition(.user($0[columns.userId]), $0[columns.lastUseq]) }
        }
        var buffer = ByteBuffer()
        StreamPositions(ahead).write(to: &buffer)
        return buffer.array
    }
}
