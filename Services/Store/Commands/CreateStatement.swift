import Models
import Postgres
import Slots
import Wire

/// Creates a conversation with its first members and reports it on each member's private stream. Returns one row per
/// member. If the id is taken, or a member was erased or has too many conversations, it returns one row without a user
/// that names the obstacle.
///
/// $1 slot · $2 conversation · $3 kind · $4 title · $5 creator · $6 members · $7 their slots · $8 how many
/// conversations a user may have · $9 how many of these others may make.
enum CreateStatement {
    static let statement = Statement(
        "create_conversation",
        parameters: [.int2, .uuid, .int2, .text, .text, .array(.text), .array(.int2), .int4, .int4],
        """
        WITH joining AS MATERIALIZED (
            SELECT u.user_id, u.user_slot, coalesce(
                    (SELECT s.conversation_count FROM store.user_streams s
                     WHERE s.user_slot = u.user_slot AND s.user_id = u.user_id),
                    (SELECT count(*) FROM store.inbox i
                     WHERE i.user_slot = u.user_slot AND i.user_id = u.user_id AND \(Listing.isListed))::integer) AS count,
                (SELECT true FROM store.erasures e
                 WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id) IS NOT NULL AS is_erased
            FROM unnest($6::text[], $7::smallint[]) AS u(user_id, user_slot)
        ), verdict AS MATERIALIZED (
            SELECT CASE
                    WHEN bool_or(is_erased) THEN 1
                    WHEN bool_or(user_id = $5 AND count >= $8) THEN 2
                    WHEN bool_or(user_id <> $5 AND count >= $9) THEN 3
                    ELSE 0
                END AS obstacle
            FROM joining
        ), fresh AS (
            INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
            SELECT $1::smallint, $2::uuid, $3::smallint, $4::text, $5::text, now.at, 1, now.at, cardinality($6::text[])
            FROM (SELECT \(ChangeTime.now) AS at) now
            WHERE (SELECT obstacle FROM verdict) = 0
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
            INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
            SELECT j.user_slot, j.user_id, 1, j.count + 1 FROM fresh f, joining j
            ON CONFLICT (user_id, user_slot)
            DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count
            RETURNING user_slot, user_id, last_useq
        ), told AS (
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
            SELECT s.user_slot, s.user_id, s.last_useq, 3, f.created_at, f.slot, f.id, 0 FROM stream s, fresh f
        )
        SELECT s.user_id, s.last_useq, f.created_at FROM stream s, fresh f
        UNION ALL
        SELECT NULL, v.obstacle::bigint, NULL FROM verdict v WHERE NOT EXISTS (SELECT FROM fresh)
        """)

    static func add(to batch: inout Batch, _ creation: CreateConversation, _ limit: ConversationLimit) {
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
            parameters.add(limit.ofUser)
            parameters.add(limit.whenAddedByOthers)
        }
    }

    struct Joined {
        let user: UserID
        let useq: Int64
        let at: Timestamp
    }

    /// The reason why nothing was created. An existing conversation that its creator is in is no fault.
    enum Obstacle: Int64 {
        case idIsTaken = 0
        case memberIsErased = 1
        case creatorHasTooMany = 2
        case memberHasTooMany = 3
    }

    static func decode(_ rows: Rows) -> (joined: [Joined], obstacle: Obstacle?) {
        guard let first = rows.first, first.isNull(0) else {
            return (rows.map { Joined(user: $0[0], useq: $0[1], at: $0[2]) }, nil)
        }
        return ([], Obstacle(rawValue: first[1]) ?? .idIsTaken)
    }
}
