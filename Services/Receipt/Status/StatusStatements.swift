import Models
import Postgres
import Wire

/// What subscribers ask to bring their status up to date.
enum StatusStatements {
    static let all = [moved, positions]

    /// The position of a conversation, with everybody who moved after a version in a conversation small enough to name
    /// them. No row: nothing ever moved. A row without a name: nothing moved since. The horizons of a larger conversation are
    /// looked up under no id, because a mere condition would be checked for each of them.
    private static let moved = Statement(
        "status", parameters: [.int2, .uuid, .int8, .int4],
        """
        SELECT p.status_version, p.last_at, h.user_id, h.delivered_seq, h.shown_seq
        FROM receipt.positions p
        JOIN store.conversations c ON c.slot = p.slot AND c.id = p.conversation_id
        LEFT JOIN receipt.horizons h
            ON h.slot = p.slot AND h.version > $3
                AND h.conversation_id = CASE WHEN c.member_count <= $4 THEN p.conversation_id END
        WHERE p.slot = $1 AND p.conversation_id = $2 AND p.status_version > 0
        ORDER BY h.user_id
        """)

    /// Which of the conversations that a subscriber holds are further on.
    private static let positions = Statement(
        "status_positions", parameters: [.int2, .array(.uuid), .array(.int8)],
        """
        SELECT p.conversation_id, p.status_version FROM unnest($2, $3) AS held (conversation_id, version)
        JOIN receipt.positions p ON p.slot = $1 AND p.conversation_id = held.conversation_id
        WHERE p.status_version > held.version
        """)

    static func status(_ query: StatusQuery, on connection: Connection) async throws(DatabaseError) -> StatusFields {
        let rows = try await connection.query(moved) { parameters in
            parameters.add(query.conversation.slot)
            parameters.add(query.conversation)
            parameters.add(query.after)
            parameters.add(Int32(StatusFields.namedMembersLimit))
        }
        guard let first = rows.first else { return StatusFields(conversation: query.conversation, version: 0) }
        var status = StatusFields(conversation: query.conversation, version: first[0], at: first[1])
        for row in rows {
            guard let user: UserID = row[2] else { continue }
            status.delivered.append((user, row[3]))
            if let shown: Int64 = row[4], shown > 0 { status.read.append((user, shown)) }
        }
        return status
    }

    static func positions(
        _ held: [(ConversationID, Int64)], in slot: Slot, on connection: Connection
    ) async throws(DatabaseError) -> StreamPositions {
        let rows = try await connection.query(positions) { parameters in
            parameters.add(slot)
            parameters.addArray(of: .uuid)
            for (conversation, _) in held { parameters.append(conversation) }
            parameters.addArray(of: .int8)
            for (_, version) in held { parameters.append(version) }
        }
        return StreamPositions(rows.map { StreamPosition(.conversation($0[0]), $0[1]) })
    }
}
