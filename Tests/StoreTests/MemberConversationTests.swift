import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The short form of a list, for most of its conversations, against the long one, for all.
@Suite(.timeLimit(.minutes(2)))
struct MemberConversationTests {
    init() { ReactorThread.start() }

    @Test(
        "what the short form says of a conversation is what the long one says; it leaves out where it would not be",
        arguments: 0..<6)
    @Reactor func forms(seed: Int) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let database = try store.database.connect()
        try database.execute("SELECT setseed(\(Double(seed) / 10)); \(Self.conversations)")
        let ids: [ConversationID] = try database.query("SELECT id FROM store.conversations").map { $0[0] }
        let bob = UserID("bob")!
        _ = try database.query(ConversationStatement.list, prefix: "CREATE TEMP TABLE short AS ") {
            let query = ListConversations(reader: bob, limit: UInt16(ids.count), before: .start)
            ConversationStatement.set(query, of: $1, in: &$0)
        }
        _ = try database.query(ConversationStatement.byID, prefix: "CREATE TEMP TABLE long AS ") {
            ConversationStatement.set(ids, for: bob, of: $1, in: &$0)
        }
        let counts = try database.query(
            """
            SELECT count(*) FILTER (WHERE s.is_whole), count(*) FILTER (WHERE NOT s.is_whole),
                count(*) FILTER (WHERE s.is_whole AND to_jsonb(s) - '{is_whole,changed_seq}'::text[] IS DISTINCT FROM
                    to_jsonb(l) - 'changed_seq'),
                count(l), count(*) FILTER (WHERE s.is_whole AND s.seq IS NOT NULL AND s.changed_seq <> l.changed_seq),
                count(*) FILTER (WHERE s.is_whole AND s.parent_text IS NOT NULL),
                count(*) FILTER (WHERE s.is_whole AND s.unread_count > 0 AND s.unread_rest IS NULL)
            FROM short s FULL JOIN long l USING (conversation_id)
            """)[0]
        for column in [2, 4] { #expect(counts[column] as Int64 == 0, "seed \(seed), column \(column)") }
        #expect(counts[3] as Int64 == Int64(ids.count))
        for column in [0, 1, 5, 6] { #expect(counts[column] as Int64 > 5, "too few of column \(column)") }
    }

    /// 300 conversations with whatever may be in them, in all mixtures.
    private static let conversations = """
        CREATE TEMP TABLE c AS
        SELECT n, gen_random_uuid() AS id, 5 + (random() * 300)::bigint AS last_seq,
            random() < 0.15 AS has_left, random() < 0.15 AS came_again, random() < 0.3 AS hides,
            random() < 0.2 AS clears, random() AS read, random() < 0.3 AS joined_late
        FROM generate_series(1, 300) n;
        ALTER TABLE c ADD slot smallint;
        UPDATE c SET slot = get_byte(uuid_send(id), 15);
        INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
        SELECT slot, id, 1, 'title ' || n, 'alice', now(), last_seq, now() + n * interval '1 s', 2 FROM c;
        INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
        SELECT \(UserID("bob")!.slot.number), 'bob', id, slot FROM c;
        INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role, cleared_seq)
        SELECT slot, id, 'bob', 1, 2, 1, 0 FROM c WHERE came_again
        UNION ALL
        SELECT slot, id, 'bob', CASE WHEN came_again OR joined_late THEN 4 ELSE 1 END,
            CASE WHEN has_left THEN last_seq - 1 END, 1 + n % 2, CASE WHEN clears THEN (last_seq * random())::bigint ELSE 0 END
        FROM c;
        INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq,
            sent_at, created_at, edited_at, deleted_at, tapback_count)
        SELECT slot, id, seq, gen_random_uuid(), seq, CASE WHEN r < 0.3 THEN 'bob' ELSE 'alice' END, kind,
            CASE WHEN kind <> 3 AND d > 0.1 THEN 'text ' || seq END, CASE WHEN kind = 2 THEN gen_random_uuid() END,
            CASE WHEN kind = 2 THEN greatest(2, seq - 1 - (d * 5)::int) END, now(), now(), CASE WHEN r > 0.9 THEN now() END,
            CASE WHEN d <= 0.1 THEN now() END, CASE WHEN r > 0.7 THEN 1 ELSE 0 END
        FROM (
            SELECT slot, id, seq, random() AS r, random() AS d,
                CASE WHEN seq > 2 AND random() < 0.4 THEN 2 WHEN random() < 0.1 THEN 3 ELSE 1 END AS kind
            FROM c, generate_series(2, last_seq) seq WHERE random() < 0.8
        ) m;
        INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
        SELECT slot, conversation_id, id, 'carol', 'love', now(), seq FROM store.messages WHERE tapback_count > 0;
        INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id)
        SELECT slot, conversation_id, seq, 6, 'alice', now(), 'carol' FROM store.messages WHERE kind = 3;
        INSERT INTO store.hidden (slot, conversation_id, user_id, seq)
        SELECT m.slot, m.conversation_id, 'bob', m.seq FROM store.messages m JOIN c ON c.id = m.conversation_id
        WHERE c.hides AND random() < 0.02;
        INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
        SELECT slot, id, 'bob', last_seq, (last_seq * least(1, read * 1.3))::bigint, 0, 1 FROM c WHERE n % 7 > 0
        """
}
