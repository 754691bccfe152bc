import Bytes
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Receipt

@Suite(.timeLimit(.minutes(2))) struct LastSeenTests {
    private let conversation = ConversationID(UUIDBytes(high: 0x0190_b1a2_3c4d_8e5f, low: 0x8a6b_7c8d_9e0f_1a2b))
    private let ann = UserID("ann")!
    private let bob = UserID("bob")!

    init() { ReactorThread.start() }

    /// Opens a conversation of ann and bob that both have in their lists.
    @Reactor private func withPair(
        isDirect: Bool = true, _ body: @Reactor (ReceiptUnderTest) async throws -> Void
    ) async throws {
        let receipt = try await ReceiptUnderTest()
        try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
        for user in ["ann", "bob"] { try receipt.list(conversation, of: user, toldReadSeq: 0) }
        if isDirect { _ = try receipt.database.query("UPDATE store.conversations SET kind = 2") { _ in } }
        try await body(receipt)
        await receipt.close()
    }

    @Reactor private func see(_ user: UserID, _ receipt: ReceiptUnderTest) async -> UInt16? {
        await receipt.ask(.seen, in: user.slot, SeenUsers([user, user]))?.status
    }

    @Reactor private func lastSeen(for user: UserID, _ receipt: ReceiptUnderTest) async -> [PresenceList.Departure]? {
        await receipt.ask(.lastSeen, in: user.slot, LastSeenQuery(user))?.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try? LastSeen(from: &reader).departures
        }
    }

    @Reactor private func decide(_ user: UserID, presence: Bool, _ receipt: ReceiptUnderTest) throws {
        _ = try receipt.database.query(
            """
            INSERT INTO store.user_settings (user_slot, user_id, presence) VALUES ($1, $2, $3)
            ON CONFLICT (user_id, user_slot) DO UPDATE SET presence = excluded.presence
            """
        ) { parameters in
            parameters.add(user.slot)
            parameters.add(user)
            parameters.add(presence)
        }
    }

    @Test("who has a direct conversation with somebody learns in which minute they were last seen")
    @Reactor func direct() async throws {
        try await withPair { receipt in
            #expect(await lastSeen(for: ann, receipt) == [])
            for _ in 0..<2 { #expect(await see(bob, receipt) == 204) }
            let departures = try #require(await lastSeen(for: ann, receipt))
            #expect(departures.map(\.user) == [bob])
            #expect(departures[0].lastSeen.milliseconds % 60_000 == 0)
            #expect(await lastSeen(for: bob, receipt) == [])
        }
    }

    @Test("the time goes forwards only")
    @Reactor func forwards() async throws {
        try await withPair { receipt in
            _ = await see(bob, receipt)
            _ = try receipt.database.query("UPDATE receipt.last_seen SET seen_at = '2099-01-01'") { _ in }
            _ = await see(bob, receipt)
            #expect(await lastSeen(for: ann, receipt)?.first?.lastSeen == Timestamp(milliseconds: 4_070_908_800_000))
            _ = try receipt.database.query("UPDATE receipt.last_seen SET seen_at = '2001-01-01'") { _ in }
            _ = await see(bob, receipt)
            let seen = try #require(await lastSeen(for: ann, receipt)?.first?.lastSeen)
            #expect(seen > Timestamp(milliseconds: 1_700_000_000_000))
        }
    }

    @Test("in a group nobody learns it")
    @Reactor func groups() async throws {
        try await withPair(isDirect: false) { receipt in
            _ = await see(bob, receipt)
            #expect(await lastSeen(for: ann, receipt) == [])
        }
    }

    @Test("who does not show presence is neither kept nor told, and is not told of others")
    @Reactor func hidden() async throws {
        try await withPair { receipt in
            _ = await see(bob, receipt)
            try decide(bob, presence: false, receipt)
            #expect(await lastSeen(for: ann, receipt) == [])
            _ = try receipt.database.query("DELETE FROM receipt.last_seen") { _ in }
            #expect(await see(bob, receipt) == 204)
            try decide(bob, presence: true, receipt)
            #expect(await lastSeen(for: ann, receipt) == [])
            _ = await see(bob, receipt)
            try decide(ann, presence: false, receipt)
            #expect(await lastSeen(for: ann, receipt) == [])
        }
    }
}
