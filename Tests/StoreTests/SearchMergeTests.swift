import Postgres
import PostgresSupport
import Testing

@testable import Store

/// The merge of what the search index has collected.
@Suite(.timeLimit(.minutes(1)))
struct SearchMergeTests {
    @Test(
        "a merge takes what every index has collected, in every partition, again and again in one session",
        arguments: [Layout.plain, .partitions(4)])
    func merges(layout: Layout) throws {
        let database = try TestDatabase(migratedBy: [Schema.migrator], layout: layout)
        let connection = try database.connect()
        func mergedPages() throws -> Int64 { try connection.query("SELECT store.merge_search_index()")[0][0] }
        #expect(try mergedPages() == 0)
        for round in 1...2 {
            try connection.execute(
                """
                INSERT INTO store.search_texts (slot, conversation_id, seq, at, since_seq, words, text)
                SELECT n % 256, gen_random_uuid(), \(round), now(), 1, array_to_tsvector(ARRAY['sea', 'sky' || n]), 'sea sky' || n
                FROM generate_series(0, 255) n
                """)
            // Two indexes of each table; every page of a collection counts.
            #expect(try mergedPages() >= (layout == .plain ? 2 : 8))
            #expect(try mergedPages() == 0)
        }
    }
}
