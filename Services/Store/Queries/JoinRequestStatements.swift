import Bytes
import JSON
import Models
import Postgres
import ServiceKit
import Slots
import Wire

/// Who asks to join a group: for those who decide, and for whoever has asked.
enum JoinRequestStatements {
    struct Columns: NamedFields {
        let role: Column<MemberRole?>
        let userId: Column<UserID?>
        let requestedAt: Column<Timestamp?>
        let inviterId: Column<UserID?>
    }

    static let list = PreparedStatement<MembersStatement.PageInput, Columns>(
        "join_requests", PackageResources.join_requests_sql, .store)

    struct OwnColumns: NamedFields { let requestedAt: Column<Timestamp> }

    static let own = PreparedStatement<ReaderInput, OwnColumns>(
        "own_join_request", PackageResources.own_join_request_sql, .store)

    struct InviterInput: NamedFields {
        let conversation: ConversationInput
        let codeHash: Parameter<UUIDBytes>
    }

    struct InviterColumns: NamedFields { let creatorId: Column<UserID> }

    static let inviter = PreparedStatement<InviterInput, InviterColumns>(
        "inviter", PackageResources.inviter_sql, .store)

    static let all = [list.untyped, own.untyped, inviter.untyped]
}

extension Queries {
    /// `{requests: [{userId, requestedAt, inviterId?}], nextCursor?}`
    func joinRequests(_ query: MembersQuery) async throws -> [UInt8] {
        let statement = JoinRequestStatements.list, columns = statement.columns
        let rows = try await connection.query(statement) { parameters, input in
            MembersStatement.set(query, of: input, in: &parameters)
        }
        return try page("requests", of: rows, columns.userId, forAdmins: columns.role, limit: query.limit) {
            buffer, row in
            buffer.append(key: "requestedAt", json: row[columns.requestedAt])
            buffer.append(key: "inviterId", json: row[columns.inviterId])
        }
    }

    /// What became of an invitation: 202 with `{conversationId, requestedAt}` while others decide, else 200 with the conversation.
    func joined(_ head: ConversationQuery) async throws -> WriteAnswer {
        let statement = JoinRequestStatements.own
        let rows = try await connection.query(statement) { $0.set($1, to: head) }
        guard let row = rows.first else { return WriteAnswer(status: 200, body: try await conversation(head)) }
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "conversationId", json: head.conversation)
        buffer.append(key: "requestedAt", json: row[statement.columns.requestedAt])
        buffer.endObject()
        return WriteAnswer(status: 202, body: buffer.array)
    }

    /// Who made the invitation that a code belongs to.
    func inviter(of secret: UUIDBytes, in conversation: ConversationID) async throws -> UserID? {
        let statement = JoinRequestStatements.inviter
        let rows = try await connection.query(statement) { parameters, input in
            parameters.set(input.conversation, to: conversation)
            parameters.set(input.codeHash, to: InvitationCode.hash(of: secret))
        }
        return rows.first.map { $0[statement.columns.creatorId] }
    }
}
