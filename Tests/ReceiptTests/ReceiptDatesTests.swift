import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Receipt
@testable import Store

/// What `receipt` keeps, as `store` reads it for the sender of messages.
@Suite(.timeLimit(.minutes(2))) struct ReceiptDatesTests {
    private let conversation = ConversationID(UUIDBytes(high: 5, low: 5))
    private static let lastSeq: Int64 = 40

    init() { ReactorThread.start() }

    @Test("counts and dates of a page are those of a row per message and member", arguments: UInt64(0)..<3)
    @Reactor func againstNaiveModel(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let receipt = try await ReceiptUnderTest(window: 0)
        try receipt.create(conversation, members: ["ann", "bob"], lastSeq: Self.lastSeq)
        try receipt.join(conversation, "cy", from: 8, through: 20)
        try receipt.join(conversation, "cy", from: 30, through: nil)
        try receipt.join(conversation, "dee", from: 15, through: 33)
        for _ in 0..<60 {
            let user = ["ann", "bob", "cy", "dee"].randomElement(using: &random)!
            let delivered = Int64.random(in: 0...Self.lastSeq, using: &random)
            let read = Int64.random(in: 0...delivered, using: &random)
            #expect(await receipt.signal(conversation, user, delivered: delivered, read: read) == 202)
            try await compare(on: receipt.database, seqs: page(using: &random))
        }
        await receipt.close()
    }

    private func page(using random: inout SeededRandom) -> [Int64] {
        let first = Int64.random(in: 1...Self.lastSeq, using: &random)
        let last = Int64.random(in: first...Self.lastSeq, using: &random)
        return [first] + (first...last).dropFirst().filter { _ in Bool.random(using: &random) }
    }

    @Reactor private func compare(on database: TestDatabase, seqs: [Int64]) async throws {
        let sender = UserID("ann")!
        let query = { (statement: Statement) in
            try database.query(statement.sql) {
                ReceiptCounts.add(self.conversation, sender: sender, seqs: seqs, to: &$0)
            }
        }
        var receipts = ReceiptCounts.sum(
            ReceiptCounts.decode(try query(ReceiptCounts.statement)), messageCount: seqs.count)
        ReceiptDates.note(try query(ReceiptDates.statement), on: &receipts)
        #expect(receipts == (try naive(on: database, sender: sender, seqs: seqs)))
    }

    /// One row per message and recipient, each looked up on its own.
    private func naive(on database: TestDatabase, sender: UserID, seqs: [Int64]) throws -> [Receipts] {
        try database.query(
            """
            SELECT count(*), count(delivered.at), count(read.at), max(delivered.at), max(read.at)
            FROM unnest($4) AS seq
            JOIN store.memberships s ON seq BETWEEN s.joined_seq AND coalesce(s.left_seq, seq)
            LEFT JOIN LATERAL (
                SELECT min(at) AS at FROM receipt.receipt_runs r
                WHERE r.conversation_id = $2 AND r.user_id = s.user_id AND kind = 1 AND to_seq >= seq
            ) delivered ON true
            LEFT JOIN LATERAL (
                SELECT min(at) AS at FROM receipt.receipt_runs r
                WHERE r.conversation_id = $2 AND r.user_id = s.user_id AND kind = 2 AND to_seq >= seq
            ) read ON true
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id <> $3
            GROUP BY seq ORDER BY seq
            """
        ) { ReceiptCounts.add(conversation, sender: sender, seqs: seqs, to: &$0) }.map { row in
            Receipts(
                recipients: Int(row[0] as Int64), delivered: Int(row[1] as Int64), read: Int(row[2] as Int64),
                lastDeliveredAt: row[3], lastReadAt: row[4])
        }
    }
}
