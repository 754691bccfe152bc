import Models
import Postgres
import Wire

/// Creates a conversation with its first members, and tells each of them on their private stream. Returns no row when
/// the id is taken or one of them was erased, and else one per member.
enum CreateStatement {
    static let statement = Statement(
        "create_conversation",
        parameters: [.int2, .uuid, .int2, .text, .text, .array(.text), .array(.int2)],
        """
        WITH fresh AS (
            INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
            SELECT $1::smallint, $2::uuid, $3::smallint, $4::text, $5::text, now.at, 1, now.at, cardinality($6::text[])
            FROM (SELECT \(ChangeTime.now) AS at) now
            WHERE NOT EXISTS (
                SELECT FROM unnest($6::text[], $7::smallint[]) AS u(user_id, user_slot)
                WHERE (SELECT true FROM store.erasures e WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id))
            ON CONFLICT DO NOTHING
            RETURNING slot, id, created_at
        ), change AS (
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
            SELECT slot, id, 1, 8, $5, created_at, $4 FROM fresh
        ), member AS (
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
            SELECT slot, id, user_id, 1, CASE WHEN user_id = $5 OR $3 = 2 THEN 2 ELSE 1 END FROM fresh, unnest($6::text[]) AS user_id
        ), listed AS (
            INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
            SELECT u.user_slot, u.user_id, f.id, f.slot FROM fresh f, unnest($6::text[], $7::smallint[]) AS u(user_id, user_slot)
        ), stream AS (
            INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
            SELECT u.user_slot, u.user_id, 1 FROM fresh f, unnest($6::text[], $7::smallint[]) AS u(user_id, user_slot)
            ORDER BY u.user_id
            ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
            RETURNING user_slot, user_id, last_useq
        ), told AS (
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
            SELECT s.user_slot, s.user_id, s.last_useq, 3, f.created_at, f.slot, f.id, 0 FROM stream s, fresh f
        )
        SELECT s.user_id, s.last_useq, f.created_at FROM stream s, fresh f
        """)

    static func add(to batch: inout Batch, _ creation: CreateConversation) {
        let members = creation.members + [creation.creator]
        batch.execute(statement) { parameters in
            parameters.add(creation.conversation.slot)
            parameters.add(creation.conversation)
            parameters.add(Int16(creation.kind.rawValue))
            parameters.add(creation.title.isEmpty ? nil : creation.title)
            parameters.add(creation.creator)
            parameters.addArray(of: .text)
            for member in members { parameters.append(member) }
            parameters.addArray(of: .int2)
            for member in members { parameters.append(member.slot) }
        }
    }

    struct Joined {
        let user: UserID
        let useq: Int64
        let at: Timestamp
    }

    static func decode(_ row: Row) -> Joined { Joined(user: row[0], useq: row[1], at: row[2]) }
}
