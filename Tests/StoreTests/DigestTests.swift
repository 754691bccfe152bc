import Foundation
import JSON
import Models
import Postgres
import Reactor
import ServiceKit
import Testing
import TestSupport
import Wire

@testable import Store

@Suite(.timeLimit(.minutes(2))) struct DigestTests {
    init() { ReactorThread.start() }

    private static var example: [String: Any] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let data = try! Data(contentsOf: root.appending(path: "Services/Ingest/openapi.json"))
        let document = try! JSONSerialization.jsonObject(with: data) as! [String: Any]
        return document["x-parley-digest-example"] as! [String: Any]
    }

    private let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)

    /// Inserts the rows behind the documented example, with its times.
    @Reactor private func insertExample(into store: StoreUnderTest) throws {
        try store.database.execute(
            """
            WITH c(slot, id, question, tombstone, response, at) AS (SELECT \(conversation.slot.number)::smallint,
                '\(conversation)'::uuid, '0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01'::uuid,
                '0198c2a5-1c44-7a90-b3d2-90e1f2c3d4e5'::uuid, '0198c2a6-77f0-7d11-8a6b-0c1d2e3f4a5b'::uuid,
                timestamptz '2026-03-07T17:00:11.250Z')
            , conversations AS (
                INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
                SELECT slot, id, 1, 'anna', at, 9, at, 3 FROM c
            ), memberships AS (
                INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
                SELECT c.slot, c.id, m.user_id, m.seq, 1
                FROM c, (VALUES ('anna', 1), ('ben', 1), ('carla', 9)) m(user_id, seq)
            ), messages AS (
                INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to,
                    reply_seq, mentions, sent_at, created_at, edited_at, deleted_at, tapback_count)
                SELECT slot, id, 2, question, 6, 'anna', 1, 'Sunday, ten?', NULL::uuid, NULL::bigint, '{ben}'::text[], at, at,
                    at + interval '4 minutes', NULL::timestamptz, 2 FROM c
                UNION ALL SELECT slot, id, 3, tombstone, 8, 'ben', 2, NULL, question, 2, NULL, at, at, NULL, at, 0 FROM c
                UNION ALL SELECT slot, id, 7, response, 7, 'ben', 2, E'Yes!\\nCafé 🧗', question, 2, NULL, at, at, NULL, NULL, 0
                FROM c
                UNION ALL SELECT slot, id, 9, gen_random_uuid(), 9, 'anna', 3, NULL, NULL, NULL, NULL, at, at, NULL, NULL, 0
                FROM c
            ), tapbacks AS (
                INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
                SELECT slot, id, question, 'ben', 'love', at, 5 FROM c
                UNION ALL SELECT slot, id, question, 'anna', '🧗', at, 6 FROM c
            )
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, user_id)
            SELECT c.slot, c.id, h.seq, h.kind, h.actor, c.at,
                CASE h.about WHEN 'question' THEN c.question WHEN 'tombstone' THEN c.tombstone END,
                CASE WHEN h.about = 'carla' THEN h.about END
            FROM c, (VALUES (1, 8, 'anna', ''), (4, 2, 'anna', 'question'), (5, 4, 'ben', 'question'),
                (6, 4, 'anna', 'question'), (8, 3, 'ben', 'tombstone'), (9, 6, 'anna', 'carla')) h(seq, kind, actor, about)
            """)
    }

    @Reactor private func digest(of reader: String, after: Int64 = 0, _ store: StoreUnderTest) async -> StoreUnderTest
        .Reply?
    {
        let head = ConversationQuery(conversation, reader: UserID(reader)!)
        return await store.ask(.digest, in: conversation.slot, AfterPositionQuery(head, after: after, limit: 20))
    }

    @Test("the documented conversation has the documented digests")
    @Reactor func example() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try insertExample(into: store)
        let response = await digest(of: "anna", store)
        let expected = (Self.example["answer"] as? [String: Any])?["pages"] as? [[String: Any]]
        for (name, value) in try #require(expected?.first) {
            #expect("\(response?.field("pages", "0", name) ?? "-")" == "\(value)", "\(name)")
        }
        #expect(response?.field("lastSeq") as? Int == 9 && response?.field("more") as? Bool == false)
        #expect(await digest(of: "dora", store)?.status == 404)
    }

    @Reactor private func sha256(_ text: String, _ store: StoreUnderTest) throws -> String {
        try store.database.query("SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')") { $0.add(text) }[0][0]
    }

    @Test("a change of a message from before a stay does not name it, and the message is in no state")
    @Reactor func windows() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try insertExample(into: store)
        let question = MessageID(UUIDBytes("0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01")!)
        #expect(await store.write(.removeTapback(question), by: "anna", in: conversation)?.status == 204)
        let response = await digest(of: "carla", store)
        #expect(response?.field("pages", "0", "fromSeq") as? Int == 1)
        let changes = try sha256("9 member.added carla anna\n10 tapback.removed - anna\n", store)
        #expect(response?.field("pages", "0", "changes") as? String == changes)
        #expect(response?.field("pages", "0", "state") as? String == (try sha256("", store)))
        #expect((await digest(of: "carla", after: 10, store)?.field("pages") as? [Any])?.isEmpty == true)
    }

    @Test("a page reads the rows of its own positions and no others, wherever it is", arguments: [0, 9_000, 19_500])
    @Reactor func rowsRead(after: Int64) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try insertExample(into: store)
        try store.database.execute(
            """
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
            SELECT \(conversation.slot.number), '\(conversation)', n, gen_random_uuid(), n, 'anna', 1, 'text', now(), now()
            FROM generate_series(10, 20000) n;
            UPDATE store.conversations SET last_seq = 20000;
            """)
        var environment = Environment(["PARLEY_DATABASE_URL": store.database.url])
        let connection = Connection(try StoreConfiguration(environment: &environment).search)
        connection.open()
        await waitUntil { connection.isUp }
        defer { connection.close() }
        let values =
            "\(conversation.slot.number), '\(conversation)', 'anna', \(UserID("anna")!.slot.number), \(after), 1"
        try store.database.execute(
            """
            CREATE FUNCTION public.explained(statement text) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE plan json;
            BEGIN
                EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) ' || statement INTO plan;
                RETURN plan;
            END $$
            """)
        let plan = try await connection.query(sql: "SELECT public.explained($1)") {
            $0.add("EXECUTE digest(\(values))")
        }
        let rows = Self.rowsRead(try JSONSerialization.jsonObject(with: Data((plan[0][0] as String).utf8)))
        // Twice the messages of each page, once the changes, and the rows that belong to them.
        #expect((1_900...2_100).contains(rows), "\(rows)")
    }

    /// Returns the number of rows read by scans of the large tables.
    private static func rowsRead(_ plan: Any) -> Int {
        if let list = plan as? [Any] { return list.map(rowsRead).reduce(0, +) }
        guard let node = plan as? [String: Any] else { return 0 }
        var rows = 0
        if ["messages", "changes"].contains(node["Relation Name"] as? String) {
            let each = (node["Actual Rows"] as? Int ?? 0) + (node["Rows Removed by Filter"] as? Int ?? 0)
            rows = each * (node["Actual Loops"] as? Int ?? 0)
        }
        return rows + node.values.map(rowsRead).reduce(0, +)
    }
}
