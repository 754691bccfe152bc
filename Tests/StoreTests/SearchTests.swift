import Bytes
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The search with a real PostgreSQL: what it finds, for which users, and what it must never find again.
@Suite(.timeLimit(.minutes(2)))
struct SearchTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    /// Opens a store with a conversation of alice and bob, in which alice has sent `texts`.
    @Reactor private func withTexts(
        _ texts: String..., body: (StoreUnderTest, [MessageID]) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        var ids: [MessageID] = []
        for text in texts {
            let draft = Draft(text: text)
            #expect(await store.send(draft, from: "alice", to: conversation).first?.status == 201)
            ids.append(draft.id)
        }
        try await body(store, ids)
    }

    // MARK: Matches

    @Test("all words, the last as a beginning, without case and accents: at once, and the same when it is indexed")
    @Reactor func words() async throws {
        try await withTexts("Meeting at nine", "A café, then the meeting", "Nothing here", "会議は東京駅です") { store, _ in
            for _ in 0..<2 {
                #expect(await store.found("meeting", by: "bob") == ["A café, then the meeting", "Meeting at nine"])
                #expect(await store.found("CAFE meet", by: "bob") == ["A café, then the meeting"])
                #expect(await store.found("meet nothing", by: "bob") == [])
                #expect(await store.found("meet cafe", by: "bob") == ["A café, then the meeting"])
                #expect(await store.found("東京", by: "bob") == ["会議は東京駅です"])
                #expect(await store.found("東京駅で", by: "bob") == ["会議は東京駅です"])
                #expect(await store.found("駅東", by: "bob") == [])
                #expect(await store.found("meeting | nothing", by: "bob") == [])
                #expect(await store.found("?!", by: "bob") == [])
                #expect(await store.found("eeti", by: "bob") == ["A café, then the meeting", "Meeting at nine"])
                #expect(await store.found("eeti afé", by: "bob") == ["A café, then the meeting"])
                await store.indexed()
            }
        }
    }

    @Test(
        "what is not indexed yet is found whatever folding does to it: apostrophes, case, accents, letters of other widths",
        arguments: [
            ("dont", "Don't ask"), ("cafe", "CAFÉ"), ("kelvin", "\u{212A}elvin"), ("wide", "ｗｉｄｅ"),
            ("asks", "don't ASKS"),
        ])
    @Reactor func unindexedFolding(query: String, text: String) async throws {
        try await withTexts(text, "nothing of it") { store, _ in
            #expect(await store.found(query, by: "bob") == [text])
            #expect(await store.found(String(query.dropFirst()), by: "bob") == [text])
        }
    }

    @Test("a search of more conversations than its first step finds what is in the others, and nothing twice")
    @Reactor func manyConversations() async throws {
        try await withTexts("rare one") { store, _ in
            for number in 0..<40 {
                let other = ConversationID(.random)
                _ = await store.create(other, by: "alice", with: ["bob"])
                _ = await store.send(Draft(text: "common \(number)"), from: "alice", to: other)
            }
            for _ in 0..<2 {
                #expect(await store.found("rare", by: "bob") == ["rare one"])
                #expect(await store.found("ommon", by: "bob", limit: 100).count == 40)
                #expect(await store.found("common", by: "bob", limit: 3) == ["common 39", "common 38", "common 37"])
                await store.indexed()
            }
        }
    }

    @Test("a result has the message, and a snippet with the matches marked")
    @Reactor func snippet() async throws {
        try await withTexts("Nothing", "The meeting moved") { store, ids in
            await store.indexed()
            let reply = try #require(await store.search("meet", by: "alice"))
            #expect(reply.field("results", "0", "message", "id") as? String == ids[1].description)
            #expect(reply.field("results", "0", "message", "recipientCount") as? Int == 1)
            #expect(reply.field("results", "0", "snippet") as? String == "The \u{2}meet\u{3}ing moved")
            #expect(reply.field("nextCursor") == nil)
        }
    }

    @Test(
        "pages are newest first across conversations, and stay what they are while messages come",
        arguments: [true, false])
    @Reactor func pages(isIndexed: Bool) async throws {
        try await withTexts { store, _ in
            let other = ConversationID(.random)
            _ = await store.create(other, by: "bob", with: ["alice"])
            var sent: [String] = []
            for number in 0..<25 {
                let text = "word \(number)"
                _ = await store.send(Draft(text: text), from: "bob", to: [conversation, other][number % 2])
                sent.insert(text, at: 0)
                await Reactor.sleep(for: .milliseconds(2))  // So that their times differ.
            }
            if isIndexed { await store.indexed() }
            var found: [String] = []
            var cursor: SearchCursor?
            repeat {
                let reply = try #require(await store.search("word", by: "alice", before: cursor, limit: 4))
                found += StoreUnderTest.texts(reply)
                cursor = (reply.field("nextCursor") as? String).flatMap { SearchCursor(text: $0) }
                _ = await store.send(Draft(text: "word later"), from: "bob", to: conversation)
                if isIndexed { await store.indexed() }
            } while cursor != nil
            #expect(found == sent)
            #expect(
                await store.found("word", by: "alice", in: other)
                    == sent.enumerated().filter { $0.offset % 2 == 1 }.map(\.element))
        }
    }

    @Test("a conversation of many blocks is searched in all of them, and newest first")
    @Reactor func blocks() async throws {
        try await withTexts("rare oldest") { store, _ in
            for _ in 0..<25 {
                let drafts = (0..<100).map { _ in Draft(text: "filler") }
                #expect(await store.sendAll(drafts, from: "bob", to: conversation).allSatisfy { $0.status == 201 })
            }
            _ = await store.send(Draft(text: "rare newest"), from: "bob", to: conversation)
            await store.indexed()
            #expect(await store.found("rare", by: "alice") == ["rare newest", "rare oldest"])
            #expect(await store.found("fille", by: "alice", limit: 3).count == 3)
            #expect(await store.found("ewest", by: "alice") == ["rare newest"])
            #expect(store.indexedCount == 2_502)
        }
    }

    // MARK: Visibility

    @Test(
        "everybody finds what they see: not before they came, nor after they left, cleared and hidden",
        arguments: [true, false])
    @Reactor func visibility(isIndexed: Bool) async throws {
        try await withTexts("secret early", "secret hidden") { store, ids in
            let carol = UserID("carol")!
            _ = await store.write(.putMember(carol, nil), by: "alice", in: conversation)
            _ = await store.send(Draft(text: "secret with carol"), from: "alice", to: conversation)
            _ = await store.write(.removeMember(carol), by: "alice", in: conversation)
            _ = await store.send(Draft(text: "secret late"), from: "alice", to: conversation)
            _ = await store.write(.hide(ids[1]), by: "bob", in: conversation)
            if isIndexed { await store.indexed() }
            #expect(await store.found("secret", by: "carol") == ["secret with carol"])
            #expect(await store.found("secret", by: "carol", in: conversation) == ["secret with carol"])
            #expect(await store.found("secret", by: "bob") == ["secret late", "secret with carol", "secret early"])
            _ = await store.write(.clearHistory(through: 6), by: "bob", in: conversation)
            #expect(await store.found("secret", by: "bob") == ["secret late"])
            #expect(await store.found("secret", by: "alice").count == 4)
            #expect(await store.found("secret", by: "mallory") == [])
            #expect(await store.search("secret", by: "mallory", in: conversation)?.status == 404)
            #expect(await store.search("secret", by: "bob", in: ConversationID(.random))?.status == 404)
        }
    }

    @Test("who has left finds texts as they were then, and nothing by what they became", arguments: [true, false])
    @Reactor func formerMembers(isIndexed: Bool) async throws {
        try await withTexts("apple one", "apple two") { store, ids in
            let bob = UserID("bob")!
            _ = await store.write(.edit(ids[1], text: "cherry two"), by: "alice", in: conversation)
            if isIndexed { await store.indexed() }
            _ = await store.write(.removeMember(bob), by: "alice", in: conversation)
            for (id, text) in zip(ids, ["melon one", "melon two"]) {
                _ = await store.write(.edit(id, text: text), by: "alice", in: conversation)
            }
            if isIndexed { await store.indexed() }
            #expect(await store.found("apple", by: "bob") == ["apple one"])
            #expect(await store.found("cherry", by: "bob") == ["cherry two"])
            #expect(await store.found("melon", by: "bob") == [])
            #expect(await store.found("melon", by: "alice") == ["melon two", "melon one"])
            _ = await store.write(.deleteForEveryone(ids[0]), by: "alice", in: conversation)
            #expect(await store.found("one", by: "bob") == [])
        }
    }

    @Test(
        "who has left and come back finds by their new texts what was edited since, indexed or not",
        arguments: [true, false])
    @Reactor func returnedMembers(isIndexed: Bool) async throws {
        try await withTexts("apple one", "apple two") { store, ids in
            let bob = UserID("bob")!
            _ = await store.write(.removeMember(bob), by: "alice", in: conversation)
            _ = await store.write(.putMember(bob, nil), by: "alice", in: conversation)
            await store.indexed()
            _ = await store.write(.edit(ids[0], text: "cherry one"), by: "alice", in: conversation)
            if isIndexed { await store.indexed() }
            #expect(await store.found("apple", by: "bob") == ["apple two"])
            #expect(await store.found("cherry", by: "bob") == ["cherry one"])
        }
    }

    @Test("system messages are not found")
    @Reactor func systemMessages() async throws {
        try await withTexts { store, _ in
            _ = await store.write(.rename("Mountaineering"), by: "alice", in: conversation)
            await store.indexed()
            #expect(await store.found("mountaineering", by: "alice") == [])
        }
    }

    // MARK: Removal

    @Test(
        "an edited message is found by its new text at once and never by the old one; a deleted one never",
        arguments: [true, false])
    @Reactor func changes(isIndexed: Bool) async throws {
        try await withTexts("apple one", "apple two") { store, ids in
            if isIndexed { await store.indexed() }
            _ = await store.write(.edit(ids[0], text: "cherry one"), by: "alice", in: conversation)
            #expect(await store.found("apple", by: "bob") == ["apple two"])
            #expect(await store.found("cherry", by: "bob") == ["cherry one"])
            _ = await store.write(.deleteForEveryone(ids[1]), by: "alice", in: conversation)
            #expect(await store.found("apple", by: "bob") == [])
            let left = try store.database.query("SELECT FROM store.search_blocks WHERE texts::text LIKE '%apple%'")
            #expect(left.isEmpty)
            await store.indexed()
            #expect(await store.found("cherry", by: "bob") == ["cherry one"])
            #expect(store.indexedTexts == [" cherry one "])
            #expect(await store.eventually { store.unfilteredCount == 0 })
            #expect(await store.found("cherry", by: "bob") == ["cherry one"])
            var filter = TextFilter()
            filter.add(FoldedText("cherry one"))
            let sql = "SELECT FROM store.search_blocks WHERE filter = ('x' || '\(filter.hexadecimal)')::bit(4096)"
            #expect(try store.database.query(sql).count == 1, "the filter tells of no text that was")
        }
    }

    @Test("whatever races the indexer, the index ends with the texts that are there", arguments: 0..<3)
    @Reactor func races(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let store = try await StoreUnderTest()
        let second = try store.secondIndexer()
        defer {
            second.connection.close()
            store.close()
        }
        let conversations = (0..<4).map { _ in ConversationID(.random) }
        for conversation in conversations { _ = await store.create(conversation, by: "alice", with: ["bob"]) }
        var writes: [Task<Void, Never>] = []
        for number in 0..<150 {
            let conversation = conversations.randomElement(using: &random)!
            let fate = Int.random(in: 0..<4, using: &random)
            writes.append(
                Task { @Reactor in
                    let draft = Draft(text: "before \(number)")
                    _ = await store.send(draft, from: "alice", to: conversation)
                    if fate > 0 {
                        _ = await store.write(.edit(draft.id, text: "after \(number)"), by: "alice", in: conversation)
                    }
                    if fate > 1 { _ = await store.write(.deleteForEveryone(draft.id), by: "alice", in: conversation) }
                })
            // Both stores index everything, like two simultaneous owners.
            for indexer in [store.store.indexer, second] { indexer.committed(conversations, messages: 1) }
            if number % 10 == 0 { await Reactor.sleep(for: .milliseconds(3)) }
        }
        for write in writes { await write.value }
        second.committed(conversations, messages: 1)
        #expect(await store.eventually { second.waitingCount == 0 })
        await store.indexed()
        let wrong = try store.database.query(
            """
            SELECT m.body, t.text FROM store.messages m FULL JOIN (
                SELECT b.slot, b.conversation_id, t.seq, btrim(t.text) AS text \(StoreUnderTest.linesOfBlocks)
            ) t USING (slot, conversation_id, seq)
            WHERE m.body IS DISTINCT FROM t.text
            """)
        #expect(wrong.isEmpty)
        #expect(await store.eventually { store.unfilteredCount == 0 })
        #expect(
            await store.found("after", by: "bob", limit: 200).count
                == store.indexedTexts?.count { $0.hasPrefix(" after ") })
    }

    @Test("of two indexers that have read the same, the later one leaves the index as it is")
    @Reactor func sameTwice() async throws {
        try await withTexts("apple one") { store, ids in
            _ = await store.write(.edit(ids[0], text: "cherry one"), by: "alice", in: conversation)
            await store.indexed()
            // The edit is ahead of the index, so that the text is taken out and added again.
            try store.database.execute("UPDATE store.search_positions SET indexed_seq = 2")
            let second = try store.secondIndexer(), connection = second.connection
            defer { second.connection.close() }
            #expect(await store.eventually { connection.isUp })
            let rows = try await connection.query(SearchIndex.unindexed) {
                SearchIndex.set([conversation], positionsOfEach: 10, of: $1, in: &$0)
            }
            let portions = SearchIndex.portions(rows)
            #expect(portions.map(\.changed) == [[2]])
            var piece = TextTurns.Piece()
            let chunks = await SearchChunk.chunks(try #require(portions.first), in: TextTurns(), &piece)
            for _ in 0..<2 {
                _ = try await connection.transaction { SearchIndex.add(portions, chunks, to: &$0) }
                #expect(store.indexedTexts == [" cherry one "])
            }
            extendLifetime(rows)  // The texts lie in them.
        }
    }

    @Test("what executables of before change behind the index, as they do, is found as it is then")
    @Reactor func changesOfBefore() async throws {
        try await withTexts("apple one", "apple two", "apple three") { store, ids in
            await store.indexed()
            try store.database.execute("CREATE TABLE public.before AS TABLE store.search_blocks")
            _ = await store.write(.edit(ids[0], text: "cherry one"), by: "alice", in: conversation)
            _ = await store.write(.deleteForEveryone(ids[1]), by: "alice", in: conversation)
            // The index as if the changes had left it alone.
            try store.database.execute(
                """
                UPDATE store.search_blocks b SET filter = f.filter, seqs = f.seqs, ats = f.ats, texts = f.texts
                    FROM public.before f;
                UPDATE store.search_positions SET indexed_seq = 4
                """)
            store.store.indexer.committed([conversation], messages: 1)
            await store.indexed()
            #expect(await store.eventually { store.unfilteredCount == 0 })
            #expect(store.indexedTexts?.sorted() == [" apple three ", " cherry one "])
        }
    }

    // MARK: Progress

    @Test("a store that takes over indexes what the one before it left")
    @Reactor func takeover() async throws {
        try await withTexts { store, _ in
            store.store.indexer.connection.close()
            _ = await store.send(Draft(text: "left behind"), from: "alice", to: conversation)
            #expect(await store.found("left", by: "bob") == ["left behind"])
            let next = try store.secondIndexer()
            defer { next.connection.close() }
            next.takeOver(conversation.slot)
            #expect(await store.eventually { store.indexedCount == 1 })
            #expect(await store.found("left", by: "bob") == ["left behind"])
        }
    }

    @Test("a connection that is lost is no text lost")
    @Reactor func connectionLoss() async throws {
        try await withTexts("first") { store, _ in
            for number in 0..<10 {
                _ = await store.send(Draft(text: "word \(number)"), from: "alice", to: conversation)
                try store.database.endSessions(of: "parley-store-indexer")
                await Reactor.sleep(for: .milliseconds(20))
            }
            await store.indexed()
            #expect(store.indexedCount == 11)
        }
    }

    @Test("a search that takes too long is refused, and the next one answered")
    @Reactor func timeout() async throws {
        try await withTexts("word") { store, _ in
            await store.indexed()
            let blocker = try store.database.connect()
            try blocker.execute("BEGIN; LOCK TABLE store.search_blocks IN ACCESS EXCLUSIVE MODE")
            #expect(await store.search("word", by: "bob")?.status == 503)
            try blocker.execute("ROLLBACK")
            #expect(await store.found("word", by: "bob") == ["word"])
        }
    }
}

extension StoreUnderTest {
    func search(
        _ text: String, by reader: String, in conversation: ConversationID? = nil, before cursor: SearchCursor? = nil,
        limit: UInt16 = 20
    ) async -> Reply? {
        let query = SearchQuery(
            reader: UserID(reader)!, conversation: conversation, before: cursor, limit: limit, text: text)
        return await ask(.search, in: query.slot, query)
    }

    /// Returns the texts of the first page.
    func found(
        _ text: String, by reader: String, in conversation: ConversationID? = nil, limit: UInt16 = 20
    ) async -> [String] {
        await search(text, by: reader, in: conversation, limit: limit).map(Self.texts) ?? ["no answer"]
    }

    static func texts(_ reply: Reply) -> [String] {
        guard let results = reply.field("results") as? [[String: Any]] else { return ["status \(reply.status)"] }
        return results.map { ($0["message"] as? [String: Any])?["text"] as? String ?? "no text" }
    }

    /// The number of texts in the index.
    var indexedCount: Int? { indexedTexts?.count }

    var indexedTexts: [String]? {
        try? database.query("SELECT t.text \(Self.linesOfBlocks)").map { $0[0] }
    }

    /// The number of blocks whose filters the indexer has yet to make.
    var unfilteredCount: Int? { try? database.query("SELECT FROM store.search_blocks WHERE filter IS NULL").count }

    static let linesOfBlocks = """
        FROM store.search_blocks b CROSS JOIN unnest(b.seqs, b.texts) AS t (seq, text)
        """

    /// Waits until everything is indexed.
    func indexed() async {
        let sql = """
            SELECT FROM store.conversations c LEFT JOIN store.search_positions p ON p.conversation_id = c.id
            WHERE p.indexed_seq IS DISTINCT FROM c.last_seq
            """
        let isIndexed = await eventually {
            store.indexer.waitingCount == 0 && (try? database.query(sql).isEmpty) == true
        }
        #expect(isIndexed, "everything is indexed in the end")
    }
}
