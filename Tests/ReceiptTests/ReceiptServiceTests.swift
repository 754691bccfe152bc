import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Receipt

/// The receipt service with a real PostgreSQL and a real bus.
@Suite(.timeLimit(.minutes(2))) struct ReceiptServiceTests {
    private let conversation = ConversationID(UUIDBytes(high: 0x0190_b1a2_3c4d_7e5f, low: 0x8a6b_7c8d_9e0f_1a2b))

    init() { ReactorThread.start() }

    @Reactor private func withReceipt(
        services: Int = 1, window: Int = 100, _ body: @Reactor (ReceiptUnderTest) async throws -> Void
    ) async throws {
        let receipt = try await ReceiptUnderTest(services: services, window: window)
        try await body(receipt)
        await receipt.close()
    }

    @Test("a delivery is kept with its time, and told to everybody in one frame")
    @Reactor func delivery() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
            #expect(await receipt.signal(conversation, "bob", delivered: 3) == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 3, read: 0))
            #expect(try receipt.runs(conversation, "bob") == ["1:1-3"])
            await waitUntil { receipt.statuses.count == 1 }
            let status = receipt.statuses[0]
            #expect(status.conversation == conversation && status.version == 1)
            #expect(
                status.json.hasPrefix(
                    #"{"conversationId":"\#(conversation)","statusVersion":1,"delivered":{"bob":3},"at":"2"#))
        }
    }

    @Test("who reads has received; who has received has not read")
    @Reactor func reading() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
            _ = await receipt.signal(conversation, "bob", delivered: 2)
            _ = await receipt.signal(conversation, "bob", read: 4)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 4, read: 4))
            #expect(try receipt.runs(conversation, "bob") == ["1:1-2", "2:1-2", "3:3-4"])
            await waitUntil { receipt.statuses.count == 2 }
            #expect(receipt.statuses[1].json.contains(#""delivered":{"bob":4},"read":{"bob":4}"#))
        }
    }

    @Test("horizons never move back, and what moves nothing is told to nobody")
    @Reactor func backwards() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
            _ = await receipt.signal(conversation, "bob", read: 4)
            #expect(await receipt.signal(conversation, "bob", read: 2) == 202)
            #expect(await receipt.signal(conversation, "bob", delivered: 4) == 202)
            #expect(await receipt.signal(conversation, "bob") == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 4, read: 4))
            await waitUntil { receipt.digests.contains { !$0.moved.isEmpty } }
            #expect(receipt.statuses.count == 1)
            #expect(await receipt.status(conversation, after: 0)?.0 == 1)
        }
    }

    @Test("a horizon beyond the end of the conversation is cut to it", arguments: [6, 1 << 40, .max] as [Int64])
    @Reactor func beyond(seq: Int64) async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
            #expect(await receipt.signal(conversation, "bob", delivered: seq, read: 2) == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 5, read: 2))
        }
    }

    @Test("what came since is read by the next signal, however far beyond the end the one before was")
    @Reactor func beyondAndOn() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 5)
            #expect(await receipt.signal(conversation, "bob", read: 1 << 40) == 202)
            _ = try receipt.database.query("UPDATE store.conversations SET last_seq = 7")
            #expect(await receipt.signal(conversation, "bob", read: 7) == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 7, read: 7))
        }
    }

    @Test("who left unread stays unread until they come back")
    @Reactor func formerMember() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann"], lastSeq: 50)
            try receipt.join(conversation, "bob", from: 5, through: 9)
            #expect(await receipt.signal(conversation, "bob", read: 7) == 403)
            #expect(try receipt.horizons(conversation, "bob") == nil)
            try receipt.join(conversation, "bob", from: 20, through: nil)
            #expect(await receipt.signal(conversation, "bob", read: 40) == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 40, read: 40))
        }
    }

    @Test("who was removed moves no more, wherever they were; the others do, and so do they when they come back")
    @Reactor func removed() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob", "cy"], lastSeq: 9)
            for user in ["ann", "bob", "cy"] { _ = await receipt.signal(conversation, user, read: 9) }
            try receipt.leave(conversation, "bob", at: 10)
            try receipt.leave(conversation, "cy", at: 11)
            #expect(await receipt.signal(conversation, "bob", read: 11) == 403)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 9, read: 9))
            #expect(await receipt.signal(conversation, "ann", delivered: 11, read: 10) == 202)
            #expect(await receipt.signal(conversation, "ann", read: 11) == 202)
            #expect(try receipt.horizons(conversation, "ann") == Horizons(delivered: 11, read: 11))
            try receipt.join(conversation, "cy", from: 12, through: nil)
            _ = try receipt.database.query("UPDATE store.conversations SET last_seq = 14")
            #expect(await receipt.signal(conversation, "cy", read: 13) == 202)
            #expect(await receipt.signal(conversation, "cy", read: 14) == 202)
            #expect(try receipt.horizons(conversation, "cy") == Horizons(delivered: 14, read: 14))
            #expect(await receipt.signal(conversation, "bob", read: 14) == 403)
        }
    }

    @Test("while messages are being written signals are gathered, and every one is answered and stored")
    @Reactor func amongMessages() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 100)
            let service = receipt.services[0]
            receipt.tellMovements(of: conversation)
            await waitUntil { service.traffic.isFlowing }
            var responses: [UInt16?] = []
            for seq in Int64(1)...100 {
                Reactor.spawn { responses.append(await receipt.signal(conversation, "bob", read: seq)) }
                if seq % 10 == 0 { await Reactor.sleep(for: .milliseconds(1)) }
            }
            await waitUntil { responses.count == 100 }
            #expect(responses.allSatisfy { $0 == 202 })
            #expect(try receipt.horizons(conversation, "bob")?.read == 100)
            receipt.movesOn = false
            await waitUntil { !service.traffic.isFlowing }
        }
    }

    @Test("a service that ends commits at once what gathers, responds to it, and tells the store")
    @Reactor func endingWhileGathering() async throws {
        try await withReceipt(window: 0) { receipt in
            let readers = (0..<20).map { "reader\($0)" }
            try receipt.create(conversation, members: ["ann"] + readers, lastSeq: 9)
            let service = receipt.services[0]
            receipt.tellMovements(of: conversation)
            await waitUntil { service.traffic.isFlowing }
            // A batch, behind which the others gather.
            _ = await receipt.signal(conversation, "ann", read: 1)
            var responses: [UInt16?] = []
            for reader in readers {
                Reactor.spawn { responses.append(await receipt.signal(conversation, reader, read: 9)) }
            }
            await waitUntil { service.writer.metrics.signals == 21 }
            receipt.movesOn = false
            await service.finish()
            #expect(service.writer.isIdle && receipt.requestsInFlight == 0)
            await waitUntil { responses.count == 20 }
            #expect(responses.allSatisfy { $0 == 202 })
            for reader in readers { #expect(try receipt.horizons(conversation, reader)?.read == 9) }
            await waitUntil { Set(receipt.told.map(\.user.name)).isSuperset(of: readers) }
        }
    }

    @Test("who sends no read receipts reads on, and the others see a delivery, if anything", arguments: [true, false])
    @Reactor func noReadReceipts(isForConversation: Bool) async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 9)
            _ = await receipt.signal(conversation, "bob", delivered: 5, read: 3)
            try receipt.sendReadReceipts(false, "bob", in: isForConversation ? conversation : nil)
            #expect(await receipt.signal(conversation, "bob", read: 5) == 202)
            #expect(try receipt.horizons(conversation, "bob") == Horizons(delivered: 5, read: 5))
            #expect(try receipt.shown(conversation, "bob") == 3)
            #expect(await receipt.status(conversation, after: 0)?.0 == 1, "there is nothing to see for others")
            _ = await receipt.signal(conversation, "bob", read: 7)
            #expect(
                await receipt.status(conversation, after: 1)?.1.contains(#""delivered":{"bob":7},"read":{"bob":3}"#)
                    == true)
            #expect(try receipt.runs(conversation, "bob") == ["1:4-5", "1:6-7", "3:1-3"])
            await waitUntil { receipt.statuses.count == 2 }
            #expect(receipt.statuses[1].json.contains("read") == false)
        }
    }

    @Test(
        "turning read receipts on shows what is read from then on, and nothing by itself; turning them off takes nothing back"
    )
    @Reactor func readReceiptsTurnedOn() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 9)
            try receipt.sendReadReceipts(false, "bob", in: nil)
            _ = await receipt.signal(conversation, "bob", read: 5)
            try receipt.sendReadReceipts(true, "bob", in: conversation)
            #expect(await receipt.signal(conversation, "bob", read: 5) == 202)
            #expect(try receipt.shown(conversation, "bob") == 0)
            _ = await receipt.signal(conversation, "bob", read: 6)
            #expect(try receipt.shown(conversation, "bob") == 6)
            try receipt.sendReadReceipts(false, "bob", in: conversation)
            _ = await receipt.signal(conversation, "bob", read: 8)
            #expect(try receipt.shown(conversation, "bob") == 6)
            #expect(try receipt.runs(conversation, "bob") == ["1:1-5", "1:7-8", "2:1-5", "3:6-6"])
        }
    }

    @Test("strangers are refused as if there were no such conversation, and leave nothing behind")
    @Reactor func strangers() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann"], lastSeq: 5)
            #expect(await receipt.signal(conversation, "mallory", read: 3) == 404)
            let unknown = ConversationID(UUIDBytes(high: 1, low: 2))
            #expect(await receipt.signal(unknown, "ann", read: 3) == 404)
            #expect(try receipt.database.query("SELECT FROM receipt.horizons").isEmpty)
            #expect(
                try receipt.database.query("SELECT FROM receipt.positions WHERE slot = 2 OR status_version > 0").isEmpty
            )
        }
    }

    @Test("the store is told how far a user has read, also when nobody else is, and not what was only delivered")
    @Reactor func tellsTheStore() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 9)
            _ = await receipt.signal(conversation, "ann", delivered: 9)
            try receipt.sendReadReceipts(false, "bob", in: nil)
            receipt.respondsToReads = false
            _ = await receipt.signal(conversation, "bob", read: 3)
            await Reactor.sleep(for: .milliseconds(200))
            receipt.respondsToReads = true
            await waitUntil { !receipt.told.isEmpty }
            #expect(receipt.told == [.init(UserID("bob")!, conversation, readSeq: 3)])
            for seq in Int64(4)...8 { _ = await receipt.signal(conversation, "bob", read: seq) }
            await waitUntil { receipt.told.last?.readSeq == 8 }
            #expect(receipt.told.count <= 3)
        }
    }

    @Test("who takes slots over looks at the conversations in which somebody was reading, not at all horizons")
    @Reactor func searchesNoted() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 9)
            for member in ["ann", "bob"] { try receipt.list(conversation, of: member, toldReadSeq: 0) }
            try receipt.database.execute(
                """
                INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
                SELECT g & 255, ('00000000-0000-7000-8000-' || lpad(to_hex(g), 12, '0'))::uuid, 'user', 9, 9, 9, 1
                FROM generate_series(1, 5000) g
                """)
            await waitUntil { receipt.services[0].search.isDone }
            let before = receipt.services[0].search.looked
            // A delivery only, and a user who is not a member. Neither is noted.
            _ = await receipt.signal(conversation, "ann", delivered: 9)
            _ = await receipt.signal(ConversationID(UUIDBytes(high: 9, low: 9)), "ann", read: 9)
            #expect(try receipt.noted() == 0)
            receipt.respondsToReads = false
            for seq in Int64(1)...3 { #expect(await receipt.signal(conversation, "bob", read: seq) == 202) }
            #expect(try receipt.noted() == 1)
            // Like a killed service: what is in its memory is not announced, and what it considered noted is forgotten.
            try receipt.database.endSessions(of: "parley-receipt-writer")
            await waitUntil { receipt.services[0].search.found > 0 && receipt.services[0].search.isDone }
            #expect(receipt.services[0].search.looked - before == 2)
            // After a takeover, a conversation is noted again.
            await waitUntil { receipt.services[0].slots.count == Slot.count }
            #expect(await receipt.signal(conversation, "bob", read: 4) == 202)
            #expect(try receipt.noted() == 2)
        }
    }

    @Test("behind an owner of an older version everything is looked at, whatever number of horizons there are")
    @Reactor func searchesUntold() async throws {
        try await withReceipt { receipt in
            await waitUntil { receipt.services[0].search.isDone }
            let members = (0..<4_500).map { "user\($0)" }
            try receipt.create(conversation, members: [], lastSeq: 9)
            _ = try receipt.database.query(
                """
                INSERT INTO receipt.horizons
                    (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
                SELECT $1, $2, name, 9, 5, 0, 1 FROM unnest($3) AS name
                """
            ) { parameters in
                parameters.add(conversation.slot)
                parameters.add(conversation)
                parameters.addArray(of: .text)
                for member in members { parameters.append(member) }
            }
            let untold = [members[0], members[2_222], members[4_499]]
            for member in members.prefix(20) + members.suffix(20) + [members[2_222]] {
                try receipt.list(conversation, of: member, toldReadSeq: untold.contains(member) ? 4 : 5)
            }
            // It has owned the slots without noting anything.
            try receipt.database.execute(
                """
                INSERT INTO receipt.positions (slot, conversation_id)
                SELECT DISTINCT slot, conversation_id FROM receipt.horizons;
                UPDATE receipt.slots SET noted_epoch = noted_epoch - 1
                """)
            receipt.respondsToReads = false
            try receipt.database.endSessions(of: "parley-receipt-writer")
            await waitUntil { receipt.services[0].search.found >= untold.count && receipt.services[0].search.isDone }
            // What the search finds is noted before the search is reported complete.
            let noted = try receipt.noted()
            #expect(noted == 1)
            receipt.respondsToReads = true
            await waitUntil { receipt.told.count >= untold.count }
            #expect(Set(receipt.told.map(\.user.name)) == Set(untold))
            #expect(receipt.told.allSatisfy { $0.readSeq == 5 && $0.conversation == conversation })
        }
    }

    @Test("negative horizons are refused")
    @Reactor func negative() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann"], lastSeq: 5)
            #expect(await receipt.signal(conversation, "ann", delivered: -1) == 400)
            #expect(await receipt.signal(conversation, "ann", read: .min) == 400)
        }
    }

    @Test("a hundred reads in a moment are answered all, and make two versions and two frames")
    @Reactor func coalescing() async throws {
        try await withReceipt(window: 300) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 100)
            var responses: [UInt16?] = []
            for seq in Int64(1)...100 {
                Reactor.spawn { responses.append(await receipt.signal(conversation, "bob", read: seq)) }
            }
            await waitUntil { responses.count == 100 }
            #expect(responses.allSatisfy { $0 == 202 })
            #expect(try receipt.horizons(conversation, "bob")?.read == 100)
            await waitUntil { receipt.statuses.last?.version == 2 }
            #expect(receipt.statuses.count == 2)
            #expect(try receipt.runs(conversation, "bob").count == 2)
        }
    }

    @Test("a conversation of more than fifty members is told that its version moved, and nobody is named")
    @Reactor func large() async throws {
        try await withReceipt { receipt in
            let members = (1...51).map { "user\($0)" }
            try receipt.create(conversation, members: members, lastSeq: 5)
            #expect(await receipt.signal(conversation, "user7", read: 5) == 202)
            await waitUntil { receipt.digests.contains { !$0.moved.isEmpty } }
            #expect(receipt.statuses.map(\.version) == [1] && receipt.statuses.map(\.json) == [""])
            let status = await receipt.status(conversation, after: 0)
            #expect(status?.0 == 1 && status?.1 == "")
        }
    }

    @Test("whoever missed frames gets what moved since in one, and learns from the digest that they did")
    @Reactor func catchingUp() async throws {
        try await withReceipt(window: 0) { receipt in
            try receipt.create(conversation, members: ["ann", "bob", "cy"], lastSeq: 9)
            _ = await receipt.signal(conversation, "ann", delivered: 1)
            _ = await receipt.signal(conversation, "bob", read: 2)
            _ = await receipt.signal(conversation, "cy", delivered: 3)
            let all = await receipt.status(conversation, after: 0)
            #expect(all?.0 == 3)
            #expect(all?.1.contains(#""delivered":{"ann":1,"bob":2,"cy":3},"read":{"bob":2}"#) == true)
            #expect(await receipt.status(conversation, after: 2)?.1.contains(#""delivered":{"cy":3},"at""#) == true)
            #expect(await receipt.status(conversation, after: 3)?.1.contains("delivered") == false)
            let stream = StreamKey.conversation(conversation)
            await waitUntil { receipt.digests.contains { $0.moved == [StreamPosition(stream, 3)] } }
            #expect(
                await receipt.positions([StreamPosition(stream, 2)], in: conversation.slot)
                    == [StreamPosition(stream, 3)])
            #expect(await receipt.positions([StreamPosition(stream, 3)], in: conversation.slot) == [])
        }
    }

    @Test("a conversation in which nothing moved is at version 0, and there is nothing to tell")
    @Reactor func untouched() async throws {
        try await withReceipt { receipt in
            try receipt.create(conversation, members: ["ann"], lastSeq: 1)
            let status = await receipt.status(conversation, after: 0)
            #expect(status?.0 == 0 && status?.1 == "")
        }
    }

    @Test("a service that ends answers first what waits in its windows, and tells each conversation once")
    @Reactor func ending() async throws {
        try await withReceipt(window: 10_000) { receipt in
            try receipt.create(conversation, members: ["ann", "bob"], lastSeq: 9)
            for user in ["ann", "bob"] { _ = await receipt.signal(conversation, user, read: 1) }
            var responses: [UInt16?] = []
            for seq in [3, 2] as [Int64] {
                for user in ["ann", "bob"] {
                    Reactor.spawn { responses.append(await receipt.signal(conversation, user, read: seq)) }
                }
            }
            await waitUntil { receipt.requestsInFlight == 4 }
            await receipt.services[0].finish()
            await waitUntil { responses.count == 4 }
            #expect(responses.allSatisfy { $0 == 202 })
            await waitUntil { receipt.statuses.count == 3 }
            #expect(receipt.statuses.last?.json.contains(#""read":{"ann":3,"bob":3}"#) == true)
        }
    }
}
