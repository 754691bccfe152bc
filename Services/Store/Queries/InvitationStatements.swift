import Bytes
import JSON
import Models
import Postgres
import ServiceKit
import Wire

/// The invitations of a group: `ContractLimits.invitationsPerConversation` at most, so there are no pages.
enum InvitationStatements {
    struct Columns: NamedFields {
        let role: Column<MemberRole?>
        let id: Column<InvitationID?>
        let creatorId: Column<UserID?>
        let createdAt: Column<Timestamp?>
        let expiresAt: Column<Timestamp?>
        let maxUses: Column<Int32?>
        let uses: Column<Int32?>
        let needsApproval: Column<Bool?>
    }

    static let list = PreparedStatement<ReaderInput, Columns>("invitations", PackageResources.invitations_sql, .store)
    static let columns = list.columns

    struct PreviewInput: NamedFields {
        let head: ReaderInput
        let codeHash: Parameter<UUIDBytes>
    }

    struct PreviewColumns: NamedFields {
        let title: Column<String?>
        let memberCount: Column<Int32>
        let needsApproval: Column<Bool>
    }

    static let preview = PreparedStatement<PreviewInput, PreviewColumns>(
        "invitation", PackageResources.invitation_sql, .store)

    static let all = [list.untyped, preview.untyped]
}

extension Queries {
    /// `{invitations: [{id, creatorId, createdAt, expiresAt?, maxUses?, uses, approval?}]}`
    func invitations(_ head: ConversationQuery) async throws -> [UInt8] {
        let rows = try await invitationRows(head)
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "invitations")
        buffer.beginArray()
        for row in rows where !row.isNull(InvitationStatements.columns.id) {
            buffer.beginElement()
            buffer.append(invitation: row, code: nil)
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }

    /// One of them, for who has just made it, with its code.
    func invitation(_ id: InvitationID, _ code: InvitationCode, _ head: ConversationQuery) async throws -> [UInt8] {
        let rows = try await invitationRows(head)
        guard let row = rows.first(where: { $0[InvitationStatements.columns.id] == id }) else {
            throw Problem.unknownInvitation
        }
        var buffer = ByteBuffer()
        buffer.append(invitation: row, code: code)
        return buffer.array
    }

    private func invitationRows(_ head: ConversationQuery) async throws -> Rows {
        let rows = try await connection.query(InvitationStatements.list) { $0.set($1, to: head) }
        guard let first = rows.first else { throw Problem.unknownConversation }
        guard first[InvitationStatements.columns.role] != nil else { throw Problem.notAMember }
        return rows
    }

    /// `{title?, memberCount, approval?}`
    func invitation(_ query: InvitationQuery) async throws -> [UInt8] {
        try await refuseErased(query.head.reader)
        let rows = try await connection.query(InvitationStatements.preview) { parameters, input in
            parameters.set(input.head, to: query.head)
            parameters.set(input.codeHash, to: InvitationCode.hash(of: query.secret))
        }
        guard let row = rows.first else { throw Problem.unknownInvitation }
        let columns = InvitationStatements.preview.columns
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "title", json: row[columns.title])
        buffer.append(key: "memberCount", json: Int(row[columns.memberCount]))
        if row[columns.needsApproval] { buffer.append(key: "approval", json: true) }
        buffer.endObject()
        return buffer.array
    }
}

extension ByteBuffer {
    fileprivate mutating func append(invitation row: Row, code: InvitationCode?) {
        let columns = InvitationStatements.columns
        beginObject()
        append(key: "id", json: row[columns.id])
        append(key: "code", json: code?.text)
        append(key: "creatorId", json: row[columns.creatorId])
        append(key: "createdAt", json: row[columns.createdAt])
        append(key: "expiresAt", json: row[columns.expiresAt])
        append(key: "maxUses", json: row[columns.maxUses].map { Int($0) })
        append(key: "uses", json: row[columns.uses].map { Int($0) })
        if row[columns.needsApproval] == true { append(key: "approval", json: true) }
        endObject()
    }
}
