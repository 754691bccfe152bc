import Models
import Postgres
import Wire

/// The queries by which subscribers bring their status up to date.
enum StatusStatements {
    static let all = [moved, positions]

    /// Selects the position of a conversation, whether it is small enough to name members, and if so all members who
    /// moved after a version. Only present members are named, because a later joiner may not learn who was there
    /// before. Returns no row if nothing ever moved, and a row without a name if no member moved since. The members of
    /// a larger conversation are looked up under no id, because a mere condition would be checked for each of them.
    private static let moved = Statement(
        "status", parameters: [.int2, .uuid, .int8, .int4],
        """
        SELECT p.status_version, p.last_at, c.member_count <= $4, h.user_id, h.delivered_seq, h.shown_seq
        FROM receipt.positions p
        JOIN store.published_conversations c ON c.slot = p.slot AND c.id = p.conversation_id
        LEFT JOIN LATERAL (
            SELECT h.* FROM store.published_memberships s CROSS JOIN LATERAL (
                SELECT h.user_id, h.delivered_seq, h.shown_seq FROM receipt.horizons h
                WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id AND h.version > $3
                OFFSET 0
            ) h
            WHERE s.slot = $1 AND s.left_seq IS NULL
              AND s.conversation_id = CASE WHEN c.member_count <= $4 THEN p.conversation_id END
        ) h ON true
        WHERE p.slot = $1 AND p.conversation_id = $2 AND p.status_version > 0
        ORDER BY h.user_id
        """)

    /// Selects which of a subscriber's conversations have moved on.
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
            parameters.add(Int32(ContractLimits.namedMembers))
        }
        guard let first = rows.first else { return StatusFields(conversation: query.conversation, version: 0) }
        var status = StatusFields(conversation: query.conversation, version: first[0], at: first[1])
        status.namesMembers = first[2]
        for row in rows {
            guard let user: UserID = row[3] else { continue }
            status.delivered.append((user, row[4]))
            if let shown: Int64 = row[5], shown > 0 { status.read.append((user, shown)) }
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
