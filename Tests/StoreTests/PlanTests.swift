import Foundation
import Postgres
import PostgresSupport
import ServiceKit
import Testing

@testable import Receipt
@testable import enum Receipt.Schema
@testable import Store

/// What the statements of lists and receipts read of a database with long conversations: look-ups by index, whose rows do
/// not become more with the length of a conversation, nor with who has been in it.
@Suite(.timeLimit(.minutes(2))) struct PlanTests {
    /// The database that all tests look at. Nothing changes it: what a statement writes is rolled back.
    private static let database = Result { () throws -> TestDatabase in
        let database = try TestDatabase(migratedBy: ServiceStatements.migrators)
        try database.execute(longConversations)
        return database
    }

    private let database: TestDatabase

    init() throws { database = try Self.database.get() }

    // MARK: Lists

    @Test("a list looks up a few rows of each conversation, and so does what changed of it")
    func lists() throws {
        let last = "'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'"
        let list = try plan("list_conversations", "'reader', 7, \(last), 51")
        try expectLookups(list, atMost: Self.unread * Self.listed, returning: Self.listed)
        let changed = try plan("changed_conversations", "'reader', 7, 0, '\(Self.noID)', 51")
        try expectLookups(changed, atMost: Self.unread * Self.listed, returning: Self.listed)
        let byID = try plan(
            "conversations", "'reader', 7, \(Self.array("slot", "smallint")), \(Self.array("id", "uuid"))")
        // Who has hidden messages may have hidden the last ones.
        try expectLookups(byID, atMost: ConversationStatement.nearbyRows * Self.listed, returning: Self.listed)
    }

    @Test("the start of a session looks up one row of each conversation and table")
    func bootstrap() throws {
        try expectLookups(plan("bootstrap", "'reader', 7"), atMost: Self.listed, returning: Self.listed)
    }

    // MARK: Receipts

    @Test(
        "receipts of a page of messages look up their recipients, wherever the messages are",
        arguments: [2, 1_500, 2_995])
    func receiptsOfPage(seq: Int) throws {
        let keys = "\(Self.array("slot", "smallint")), \(Self.array("id", "uuid")), \(Self.array("\(seq)", "bigint"))"
        let small = try plan("lone_receipts", "'reader', \(keys), 50")
        // Of the conversation in which so many were, one stay more than the limit.
        try expectLookups(small, atMost: 51 + 3 * Self.members * Self.listed, returning: Self.listed)
        let large = try plan("lone_receipts_of_many", "'reader', \(keys)")
        // How far everybody is who ever was there.
        try expectLookups(large, atMost: Self.everMembers + Self.members * Self.listed, returning: Self.listed)
    }

    @Test("receipts of many messages of a conversation look each recipient up once", arguments: [2, 1_500, 2_995])
    func receiptsOfConversation(first: Int) throws {
        let key = "1, '\(Self.firstID)'", seqs = "'{\(first),\(first + 1),\(first + 3)}'"
        try expectLookups(plan("recipients", "\(key), 'reader', 51"), atMost: 52, returning: 51)
        let counts = try plan("receipt_counts", "\(key), 'reader', \(seqs)")
        #expect(counts.excesses(over: Self.everMembers) == [])
        // Of each kind as many as there are positions from the first one to the last.
        #expect(try plan("kept_dates", "\(key), \(seqs)").excesses(over: 8) == [])
    }

    @Test("a batch of readings looks up the horizon of each, and the last removal of each conversation")
    func advances() throws {
        let slots = Self.array("slot", "smallint"), ids = Self.array("id", "uuid")
        try expectLookups(plan("insert_positions", "\(slots), \(ids)"), atMost: Self.listed, returning: 0)
        try expectLookups(plan("lock_positions", "\(slots), \(ids)"), atMost: Self.listed, returning: 1)
        let subscripts = "ARRAY(SELECT generate_series(1, \(Self.listed)))::integer[]"
        let seqs = "array_fill(2999::bigint, ARRAY[\(Self.listed)])"
        let advance = try plan(
            "advance_horizons",
            """
            \(slots), \(ids), \(subscripts), array_fill('reader'::text, ARRAY[\(Self.listed)]), \(seqs), \(seqs),
            '{7}', '{reader}', array_fill(1, ARRAY[\(Self.listed)])
            """)
        try expectLookups(advance, atMost: Self.listed, returning: 1)
        #expect(advance.scans.contains { $0.index == "horizons_pkey" && $0.loops == Self.listed })
    }

    @Test("a batch of read positions looks up the list and the stream of each user")
    func readPositions() throws {
        let users = "array_fill('reader'::text, ARRAY[\(Self.listed)])"
        let slots = "array_fill(7::smallint, ARRAY[\(Self.listed)])"
        let seqs = "array_fill(2999::bigint, ARRAY[\(Self.listed)])"
        try expectLookups(plan("lock_streams", "'{7}', '{reader}'"), atMost: 1, returning: 1)
        let told = try plan("tell_read", "\(slots), \(users), \(Self.array("id", "uuid")), \(seqs)")
        try expectLookups(told, atMost: Self.listed, returning: Self.listed)
    }

    @Test(
        "messages that expire from reading on look up their readers, whoever has left, and a part of what each has read"
    )
    func lifetimes() throws {
        try expectLookups(plan("due_lifetimes", "'{1,2,3}'"), atMost: 1, returning: 1)
        let step = try plan("expire_messages", "1, '\(Self.firstID)'")
        try expectLookups(step, atMost: Self.members * Lifetimes.runsPerReader, returning: 1)
        let runs = step.scans.filter { $0.table == "receipt_runs" }.map(\.rows)
        #expect(runs.max() ?? 0 >= Lifetimes.runsPerReader, "they are looked at: \(runs)")
    }

    @Test(
        "whether a conversation begins with what is kept no longer is one look-up for each, and a step reads what it removes"
    )
    func retention() throws {
        let all = "ARRAY(SELECT generate_series(0, 255))"
        let walk = try plan("due_trims", "\(all), '\(Self.noID)', 30")
        #expect(walk.excesses(over: Retention.conversationsPerLook) == [] && walk.rows > 0)
        try expectLookups(plan("due_trims", "\(all), '\(Self.noID)', NULL"), atMost: 1, returning: 0)
        let step = try plan("trim_history", "1, '\(Self.firstID)', 30")
        try expectLookups(step, atMost: Retention.messagesPerStep, returning: 1)
    }

    // MARK: Large groups

    @Test(
        "who comes into a large group, or leaves it, is looked up",
        arguments: [
            ("put_member", "'newcomer', 7, NULL, 9, 100000, '\(noID)', 1, NULL"), ("join_conversation", "9, 100000"),
            // The only owner, whom an admin follows.
            ("remove_member", "'large1', 7"),
        ])
    func largeGroup(name: String, own: String) throws {
        let actor = name == "join_conversation" ? "newcomer" : "large1"
        let write = "30, '\(Self.largeID)', '\(actor)', 7, ARRAY[]::uuid[], 1, '\(Self.noID)'"
        let plan = try plan(name, "\(write), \(own)")
        try expectLookups(plan, atMost: 2, returning: 1)
        #expect(plan.changes["conversations"] == 1, "it is stored: \(plan.changes)")
    }

    @Test("a report is looked up, in a large group, too")
    func reports() throws {
        let write = "30, '\(Self.largeID)', 'large1', 7, ARRAY[]::uuid[], 23, '\(Self.noID)'"
        let plan = try plan("create_report", "\(write), NULL, 'large9', 1, NULL")
        try expectLookups(plan, atMost: 2, returning: 1)
        let counted = plan.scans.filter {
            $0.table == "reports" && $0.loops > 0 && $0.condition?.contains("conversation_id") == true
        }
        #expect(counted.count > 1, "it is refused before those that are open are counted")
    }

    @Test("an imported member is looked up, however many there are", arguments: [6, 7, 10])
    func largeImport(kind: Int) throws {
        let user = kind == 6 ? "newcomer" : "large9"
        let plan = try plan(
            "import_member", "31, '\(Self.importedID)', '\(user)', 7, \(kind), now(), NULL, 9, 100000")
        try expectLookups(plan, atMost: 2, returning: 1)
        #expect(plan.changes["conversations"] == 1, "it is stored: \(plan.changes)")
    }

    @Test(
        "an imported vote is looked up, and so is the end of a poll, however many have voted",
        arguments: [("import_vote", "'large9', 2::smallint, now()"), ("import_poll_closed", "now(), 'large9'")])
    func largePoll(name: String, fields: String) throws {
        let plan = try plan(name, "31, '\(Self.importedID)', '\(Self.noID)', \(fields)")
        try expectLookups(plan, atMost: 2, returning: 1)
        #expect(plan.changes["conversations"] == 1, "it is stored: \(plan.changes)")
    }

    // MARK: The test itself

    @Test("a statement that reads a conversation is found, by an index or without one")
    func found() throws {
        let long = "WHERE conversation_id = '\(Self.firstID)'"
        for (sql, excess) in [
            ("SELECT count(*) FROM store.messages \(long)", #/reads \d{4} rows/#),
            (
                "SELECT to_seq FROM receipt.receipt_runs \(long) AND user_id = 'reader' ORDER BY at LIMIT 1",
                #/reads \d{3} rows/#
            ),
            ("SELECT count(*) FROM store.conversations WHERE title = 'listed 1'", #/no condition/#),
            (
                "SELECT count(*) FROM store.memberships a JOIN store.memberships b ON a.role < b.role",
                #/compare \d{7} rows/#
            ),
        ] {
            let connection = try database.connect()
            try connection.execute("SET enable_seqscan = off")
            let excesses = try ExecutedPlan(of: sql, on: connection).excesses(over: 60)
            #expect(excesses.contains { $0.contains(excess) }, "\(sql): \(excesses)")
        }
    }

    // MARK: Expectations

    private func expectLookups(_ plan: ExecutedPlan, atMost limit: Int, returning rows: Int) throws {
        #expect(plan.excesses(over: limit) == [])
        #expect(plan.rows == rows)
        try #require(!plan.scans.isEmpty)
    }

    /// Executes a statement of the services with the settings of its connection, and takes back what it wrote.
    private func plan(_ name: String, _ arguments: String) throws -> ExecutedPlan {
        for configuration in try ServiceStatements.configurations {
            guard let statement = configuration.statements.first(where: { $0.name == name }) else { continue }
            let connection = try database.connect()
            for (name, value) in configuration.settings where name != "default_transaction_read_only" {
                try connection.execute("SET \(name) = '\(value)'")
            }
            let types = statement.parameters.map(\.description).joined(separator: ", ")
            // Arguments are made by subqueries, which EXECUTE does not take.
            let values = try connection.query("SELECT \(Self.literals(arguments, statement))")
            try connection.execute("PREPARE planned (\(types)) AS \(statement.sql)")
            return try ExecutedPlan(of: "EXECUTE planned (\(values[0][0] as String))", on: connection)
        }
        throw UnknownStatement(name: name)
    }

    private struct UnknownStatement: Error { let name: String }

    /// SQL that makes the arguments as literals.
    private static func literals(_ arguments: String, _ statement: Statement) -> String {
        let names = statement.parameters.indices.map { "a\($0)" }
        let list = zip(names, statement.parameters).map { "quote_nullable(\($0)::\($1.description)::text)" }
        return
            "concat_ws(', ', \(list.joined(separator: ", "))) FROM (VALUES (\(arguments))) AS v (\(names.joined(separator: ", ")))"
    }

    /// An array of something of all conversations of the reader.
    private static func array(_ expression: String, _ type: String) -> String {
        "ARRAY(SELECT (\(expression))::\(type) FROM store.conversations WHERE title LIKE 'listed %' ORDER BY id)"
    }

    // MARK: Rows

    /// The conversations of the reader, the members of each, the messages that none of them has read, and those who have
    /// left one of the conversations.
    private static let listed = 12, members = 5, unread = 4, formerMembers = 400, everMembers = members + formerMembers

    private static let noID = "00000000-0000-0000-0000-000000000000"
    private static let firstID = "01900000-0000-7000-8000-000000000001"
    private static let largeID = "01900000-0000-7000-8000-0000000000aa"
    private static let importedID = "01900000-0000-7000-8000-0000000000ab"

    /// Conversations of 3,000 changes: messages, of which the reader has hidden many, and removals; everybody read on
    /// five messages at a time. In the first one, many came and left.
    private static let longConversations = """
        CREATE TEMP TABLE c AS
        SELECT n, n AS slot, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id, 3000::bigint AS last_seq,
            n <= \(listed) AS is_listed
        FROM generate_series(1, \(listed) + 6) n;
        INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
        SELECT slot, id, 1, CASE WHEN is_listed THEN 'listed ' ELSE 'other ' END || n, 'user1', now(), last_seq,
            now() - n * interval '1 minute', \(members)
        FROM c;
        INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role)
        SELECT slot, id, CASE WHEN m > 1 THEN 'user' || m WHEN is_listed THEN 'reader' ELSE 'another' END, 1, NULL::bigint, 1
        FROM c, generate_series(1, \(members)) m
        UNION ALL
        SELECT slot, id, 'former' || m, m, 2 + m, 1 FROM c, generate_series(1, \(formerMembers)) m WHERE n = 1;
        INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
        SELECT 7, user_id, conversation_id, slot FROM store.memberships;
        INSERT INTO store.user_streams (user_slot, user_id, last_useq) SELECT DISTINCT 7, user_id, 5 FROM store.memberships;
        INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
        SELECT slot, id, seq, gen_random_uuid(), seq, CASE WHEN seq % 2 = 0 THEN 'user2' ELSE 'reader' END, 1, 'text',
            now(), now()
        FROM c, generate_series(2, last_seq) seq WHERE seq % 10 > 0;
        INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role)
        SELECT slot, id, seq, 7, 'user1', now(), 'gone', 1 FROM c, generate_series(2, last_seq - 100) seq WHERE seq % 10 = 0;
        INSERT INTO store.hidden (slot, conversation_id, user_id, seq)
        SELECT slot, conversation_id, 'reader', seq FROM store.messages WHERE seq % 10 = 3 AND seq < 2900;
        INSERT INTO receipt.positions (slot, conversation_id, status_version, last_at) SELECT slot, id, 9, now() FROM c;
        INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
        SELECT s.slot, s.conversation_id, s.user_id, coalesce(s.left_seq, 2995), coalesce(s.left_seq, 2995),
            coalesce(s.left_seq, 2995), 9
        FROM store.memberships s;
        INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
        SELECT h.slot, h.conversation_id, h.user_id, 3, n * 5 + 1, n * 5 + 5, now()
        FROM receipt.horizons h, generate_series(0, 598) n WHERE h.user_id NOT LIKE 'former%';
        INSERT INTO receipt.completions (slot, conversation_id, kind, from_seq, to_seq, at)
        SELECT slot, id, kind, r * 5 + 1, r * 5 + 5, now() FROM c, generate_series(1, 2) kind, generate_series(0, 598) r;
        INSERT INTO store.lifetimes (slot, conversation_id, from_seq, seconds, done_seq, due_at, look_at)
        VALUES (1, '\(firstID)', 1, 3600, 1, 'infinity', now());
        INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
        VALUES (30, '\(largeID)', 1, 'large', 'large1', now(), 1, now(), 1000),
            (31, '\(importedID)', 1, 'imported', 'large1', now(), 1, now(), 1000);
        INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
        SELECT 30, '\(largeID)', 'large' || m, 1, CASE m WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 1 END FROM generate_series(1, 1000) m;
        INSERT INTO store.invitations (slot, conversation_id, id, code_hash, creator_id, creator_slot, created_at)
        VALUES (30, '\(largeID)', '\(noID)', '\(noID)', 'large1', 7, now());
        INSERT INTO store.imports (slot, conversation_id) VALUES (31, '\(importedID)');
        INSERT INTO store.import_stays (slot, conversation_id, user_id, user_slot, joined_seq, role)
        SELECT 31, '\(importedID)', 'large' || m, 7, 1, CASE m WHEN 1 THEN 2 ELSE 1 END FROM generate_series(1, 1000) m;
        INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
        VALUES (31, '\(importedID)', 1, '\(noID)', 1, 'large1', 5, 'poll', now(), now());
        INSERT INTO store.polls (slot, conversation_id, message_id, options, is_multiple, counts, voters)
        VALUES (31, '\(importedID)', '\(noID)', '{a,b}', false, '{1000,0}', 1000);
        INSERT INTO store.votes (slot, conversation_id, message_id, user_id, options, at, seq)
        SELECT 31, '\(importedID)', '\(noID)', 'large' || m, 1, now() - interval '1 hour', 1 FROM generate_series(1, 1000) m;
        INSERT INTO store.user_streams (user_slot, user_id, last_useq) VALUES (7, 'newcomer', 0), (7, 'large1', 0), (7, 'large9', 0);
        ANALYZE
        """
}

/// A statement's plan with the rows that each of its nodes read.
private struct ExecutedPlan {
    /// A node that reads a table.
    struct Scan: Equatable {
        let kind: String
        let table: String
        let index: String?
        let condition: String?
        let loops: Int
        /// In all loops, with those that a filter took away.
        let rows: Int
    }

    /// How many rows the statement returns.
    let rows: Int
    private(set) var scans: [Scan] = []
    /// How many rows of each table were written and returned.
    private(set) var changes: [String: Int] = [:]
    /// The pairs of rows that joins compared in vain.
    private var comparisons = 0

    init(of statement: String, on connection: BlockingConnection) throws {
        try connection.execute(
            """
            BEGIN;
            CREATE FUNCTION pg_temp.plan(statement text) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE plan json;
            BEGIN
                EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
                RETURN plan;
            END $$
            """)
        let plan = try connection.query("SELECT pg_temp.plan($1)") { $0.add(statement) }
        try connection.execute("ROLLBACK")
        let plans = try JSONSerialization.jsonObject(with: Data((plan[0][0] as String).utf8)) as? [[String: Any]]
        let root = try #require(plans?.first?["Plan"] as? [String: Any])
        rows = Int(Self.number("Actual Rows", of: root))
        collect(root)
    }

    private static func number(_ key: String, of node: [String: Any]) -> Double {
        (node[key] as? NSNumber)?.doubleValue ?? 0
    }

    private mutating func collect(_ node: [String: Any]) {
        if let kind = node["Node Type"] as? String, kind.hasSuffix("Scan"), let table = node["Relation Name"] as? String
        {
            let loops = Self.number("Actual Loops", of: node)
            let read = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"].reduce(0) {
                $0 + Self.number($1, of: node)
            }
            scans.append(
                Scan(
                    kind: kind, table: table, index: node["Index Name"] as? String,
                    condition: ["Index Cond", "Recheck Cond", "TID Cond"].lazy.compactMap { node[$0] as? String }.first,
                    loops: Int(loops), rows: Int((read * loops).rounded())))
        }
        if node["Node Type"] as? String == "ModifyTable", let table = node["Relation Name"] as? String {
            changes[table] = Int(Self.number("Actual Rows", of: node))
        }
        let vain = Self.number("Rows Removed by Join Filter", of: node) * Self.number("Actual Loops", of: node)
        comparisons += Int(vain.rounded())
        for child in node["Plans"] as? [[String: Any]] ?? [] { collect(child) }
    }

    /// What reads a table without a condition on an index, or more rows than the limit, or compares more, a sentence for
    /// each.
    func excesses(over limit: Int) -> [String] {
        let joins = comparisons > limit ? ["joins compare \(comparisons) rows in vain"] : []
        return joins
            + scans.filter { $0.loops > 0 && $0.table != "deployment" }.compactMap { scan in
                let subject = "\(scan.kind) of \(scan.table) by \(scan.index ?? "no index")"
                if scan.condition == nil { return "\(subject) has no condition" }
                return scan.rows > limit ? "\(subject) reads \(scan.rows) rows" : nil
            }
    }
}
