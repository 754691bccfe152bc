import Models
import Postgres
import Wire

/// The state that a user's session starts from: everything but the texts, in one snapshot. Fans out over slots, like
/// the list of conversations. Returns at least one row, without a stay if there is none.
enum BootstrapStatement {
    static let statement = Statement(
        "bootstrap", parameters: [.text, .int2],
        """
        SELECT d.log_id, clock_timestamp(),
            \(lastUseq),
            s.conversation_id, s.last_seq, s.joined_seq, s.left_seq, s.status_version, s.member_count,
            coalesce((SELECT u.presence FROM store.user_settings u WHERE u.user_slot = $2 AND u.user_id = $1), true),
            \(PrivateTail.first(of: ("$2", "$1"), last: lastUseq))
        FROM store.deployment d
        LEFT JOIN (
            SELECT i.conversation_id, c.last_seq, m.joined_seq, m.left_seq, coalesce(p.status_version, 0) AS status_version,
                c.member_count
            FROM (
                -- Those that are not in the list, too: a device that was away goes on in them from its cursors.
                SELECT i.slot, i.conversation_id FROM store.inbox i WHERE i.user_slot = $2 AND i.user_id = $1 OFFSET 0
            ) i
            -- Each looked up on its own (OFFSET 0): the planner might go through all that there are.
            CROSS JOIN LATERAL (
                SELECT c.last_seq, c.member_count FROM store.conversations c
                WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
            ) c
            CROSS JOIN LATERAL (
                SELECT m.joined_seq, coalesce(m.left_seq, 0) AS left_seq FROM store.memberships m
                WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id = $1 OFFSET 0
            ) m
            LEFT JOIN LATERAL (
                SELECT p.status_version FROM receipt.published_positions p
                WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id OFFSET 0
            ) p ON true
        ) s ON true
        """)

    private static let lastUseq = """
        coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = $2 AND u.user_id = $1), 0)
        """

    static func add(_ query: BootstrapQuery, to parameters: inout Parameters) {
        parameters.add(query.user)
        parameters.add(query.user.slot)
    }

    static func stay(_ row: Row) -> Bootstrap.Stay? {
        guard !row.isNull(3) else { return nil }
        let left: Int64 = row[6]
        return Bootstrap.Stay(
            conversation: row[3], lastSeq: row[4], from: row[5], through: left == 0 ? nil : left, statusVersion: row[7],
            memberCount: Int(row[8] as Int32))
    }

    static func showsPresence(_ row: Row) -> Bool { row[9] }

    static func firstUseq(_ row: Row) -> Int64 { row[10] }
}

/// Selects which of a subscriber's streams have moved on in the database.
enum PositionsStatement {
    static let conversations = Statement(
        "conversation_positions", parameters: [.int2, .array(.uuid), .array(.int8)],
        """
        SELECT c.id, c.last_seq FROM unnest($2::uuid[], $3::bigint[]) AS held(id, seq)
        JOIN store.conversations c ON c.slot = $1 AND c.id = held.id
        WHERE c.last_seq > held.seq
        """)

    static let users = Statement(
        "user_positions", parameters: [.int2, .array(.text), .array(.int8)],
        """
        SELECT u.user_id, u.last_useq FROM unnest($2::text[], $3::bigint[]) AS held(user_id, useq)
        JOIN store.user_streams u ON u.user_slot = $1 AND u.user_id = held.user_id
        WHERE u.last_useq > held.useq
        """)

    static func add(conversations held: [(ConversationID, Int64)], in slot: Slot, to parameters: inout Parameters) {
        parameters.add(slot)
        parameters.addArray(of: .uuid)
        for (conversation, _) in held { parameters.append(conversation) }
        parameters.addArray(of: .int8)
        for (_, seq) in held { parameters.append(seq) }
    }

    static func add(users held: [(UserID, Int64)], in slot: Slot, to parameters: inout Parameters) {
        parameters.add(slot)
        parameters.addArray(of: .text)
        for (user, _) in held { parameters.append(user) }
        parameters.addArray(of: .int8)
        for (_, useq) in held { parameters.append(useq) }
    }
}
