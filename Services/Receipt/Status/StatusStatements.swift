import Models
import Postgres
import Slots
import Wire

/// The queries by which subscribers bring their status up to date.
enum StatusStatements {
    static let all = [moved.untyped, positions.untyped]

    // MARK: One conversation

    private struct MovedInput: NamedFields {
        let key: ConversationInput
        let after: Parameter<Int64>
        let namedMembers: Parameter<Int32>
    }

    private struct MovedColumns: NamedFields {
        let statusVersion: Column<Int64>
        let lastAt: Column<Timestamp>
        let namesMembers: Column<Bool>
        let userId: Column<UserID?>
        let deliveredSeq: Column<Int64>
        let shownSeq: Column<Int64>
    }

    private static let moved = PreparedStatement<MovedInput, MovedColumns>(
        "status", PackageResources.status_sql, .receipt)

    static func status(_ query: StatusQuery, on connection: Connection) async throws(DatabaseError) -> StatusFields {
        let rows = try await connection.query(moved) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.after, to: query.after)
            parameters.set(input.namedMembers, to: Int32(ContractLimits.namedMembers))
        }
        let columns = moved.columns
        guard let first = rows.first else { return StatusFields(conversation: query.conversation, version: 0) }
        var status = StatusFields(
            conversation: query.conversation, version: first[columns.statusVersion], at: first[columns.lastAt])
        status.namesMembers = first[columns.namesMembers]
        for row in rows {
            guard let user = row[columns.userId] else { continue }
            status.delivered.append((user, row[columns.deliveredSeq]))
            let shown = row[columns.shownSeq]
            if shown > 0 { status.read.append((user, shown)) }
        }
        return status
    }

    // MARK: Positions

    private struct PositionsInput: NamedFields {
        let slot: Parameter<Slot>
        let conversations: Parameter<[ConversationID]>
        let versions: Parameter<[Int64]>
    }

    private struct PositionsColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let statusVersion: Column<Int64>
    }

    private static let positions = PreparedStatement<PositionsInput, PositionsColumns>(
        "status_positions", PackageResources.status_positions_sql, .receipt)

    static func positions(
        _ held: [(ConversationID, Int64)], in slot: Slot, on connection: Connection
    ) async throws(DatabaseError) -> StreamPositions {
        let rows = try await connection.query(positions) { parameters, input in
            parameters.set(input.slot, to: slot)
            parameters.set(input.conversations, to: held.lazy.map(\.0))
            parameters.set(input.versions, to: held.lazy.map(\.1))
        }
        let columns = positions.columns
        return StreamPositions(
            rows.map { StreamPosition(.conversation($0[columns.conversationId]), $0[columns.statusVersion]) })
    }
}
