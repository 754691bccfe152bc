import Bytes
import Foundation
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// What may be reported is what its reporter sees. Administrators alone learn of it.
@Suite(.timeLimit(.minutes(3))) struct ReportTests {
    typealias Draft = StoreUnderTest.Draft

    private let conversation = ConversationID(.random)
    private let bob = UserID("bob")!

    init() { ReactorThread.start() }

    /// Opens alice's group with bob and carol.
    @Reactor private func withStore(
        layout: Layout = .plain, settings: [String: String] = [:], with members: [String] = ["bob", "carol"],
        _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout, settings: settings)
        defer { store.close() }
        #expect(await store.create(conversation, by: "alice", with: members)?.status == 201)
        try await body(store)
    }

    @Reactor private func send(_ text: String, by sender: String, _ store: StoreUnderTest) async -> MessageID {
        let draft = Draft(text: text)
        #expect(await store.send(draft, from: sender, to: conversation).first?.status == 201)
        return draft.id
    }

    @Reactor private func report(
        _ message: MessageID? = nil, of user: String? = nil, by reporter: String, id: ReportID = ReportID(.random),
        text: String = "", _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        let report = NewReport(
            id: id, message: message, user: user.map { UserID($0)! }, reason: .spam, text: text)
        return await store.write(.report(report), by: reporter, in: conversation)
    }

    @Reactor private func read(_ id: ReportID, _ store: StoreUnderTest) async -> StoreUnderTest.Reply? {
        let head = ConversationQuery(conversation, reader: UserID("backend")!)
        return await store.ask(.report, in: conversation.slot, ReportQuery(head, report: id))
    }

    @Reactor private func resolve(
        _ id: ReportID, as action: ReportAction = .deleted, note: String = "", _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        let resolution = ReportResolution(of: id, action, note: note)
        return await store.write(.resolveReport(resolution), by: "backend", in: conversation)
    }

    /// What administrators get of the reported message.
    @Reactor private func copy(of id: ReportID, _ store: StoreUnderTest) async -> NSDictionary? {
        await read(id, store)?.field("message") as? NSDictionary
    }

    private func isUnknown(_ reply: StoreUnderTest.Reply?) -> Bool {
        guard case .problem(let problem)? = reply else { return false }
        return problem.code == .notFound
            && problem.detail.hasPrefix("there is no such conversation, or no such message")
    }

    // MARK: What may be reported

    @Test("a message is reported by whoever sees it, as they see it, and to all others it is one that is not there")
    @Reactor func visibility() async throws {
        try await withStore { store in
            let early = await send("early", by: "bob", store)
            _ = await store.write(.putMember(UserID("late")!, nil), by: "alice", in: conversation)
            _ = await store.write(.removeMember(UserID("carol")!), by: "carol", in: conversation)
            let later = await send("later", by: "bob", store)
            _ = await store.write(.edit(early, text: "edited"), by: "bob", in: conversation)
            for (message, reporter, text) in [
                (early, "alice", "edited"), (early, "carol", "early"), (early, "bob", "edited"),
                (later, "alice", "later"), (later, "late", "later"),
            ] {
                let id = ReportID(.random)
                #expect(await report(message, by: reporter, id: id, store)?.status == 201, "\(text) by \(reporter)")
                let kept = try #require(await copy(of: id, store))
                #expect(kept["text"] as? String == text && kept["senderId"] as? String == "bob")
                let createdAt = await store.message(message, for: "bob", in: conversation)?.field("createdAt")
                #expect(kept["createdAt"] as? String == createdAt as? String)
            }
            for (message, reporter) in [
                (early, "late"), (early, "stranger"), (later, "carol"), (MessageID(.random), "alice"),
            ] { #expect(isUnknown(await report(message, by: reporter, store)), "by \(reporter)") }
            _ = await store.write(.hide(later), by: "alice", in: conversation)
            #expect(isUnknown(await report(later, by: "alice", store)))
            _ = await store.write(.clearHistory(through: 0), by: "alice", in: conversation)
            #expect(isUnknown(await report(early, by: "alice", store)))
        }
    }

    @Test("who is asked about a conversation reports without accepting, and who has blocked its sender what was before")
    @Reactor func requestAndBlock() async throws {
        let direct = DirectConversation.id(UserID("dora")!, bob)
        let store = try await StoreUnderTest(settings: ["PARLEY_MESSAGE_REQUESTS": "strangers"])
        defer { store.close() }
        let opening = CreateConversation(
            conversation: direct, kind: .direct, creator: bob, title: "", members: [UserID("dora")!])
        #expect(await store.ask(.createConversation, in: direct.slot, opening)?.status == 201)
        let before = Draft(text: "before"), after = Draft(text: "after")
        _ = await store.send(before, from: "bob", to: direct)
        func report(_ message: MessageID) async -> UInt16? {
            let report = NewReport(id: ReportID(.random), message: message, user: bob, reason: .harassment)
            return await store.write(.report(report), by: "dora", in: direct)?.status
        }
        #expect(await report(before.id) == 201)
        let waiting = await store.ask(.requests, in: UserID("dora")!.slot, SettingsQuery(UserID("dora")!))
        #expect((waiting?.field("requests") as? [Any])?.count == 1, "it waits")
        // A block takes a request away, with what was seen of it.
        #expect(await store.write(.acceptRequest, by: "dora", in: direct)?.status == 204)
        #expect(await store.write(.block(bob, true), by: "dora", in: direct)?.status == 204)
        #expect(await store.send(after, from: "bob", to: direct).first?.status == 201)
        #expect(await report(before.id) == 201)
        #expect(await report(after.id) == 404)
    }

    @Test("a person is reported by whoever was in the conversation with them")
    @Reactor func persons() async throws {
        try await withStore { store in
            _ = await store.write(.removeMember(UserID("carol")!), by: "carol", in: conversation)
            _ = await store.write(.putMember(UserID("late")!, nil), by: "alice", in: conversation)
            for (user, reporter, status) in [
                ("bob", "alice", 201), ("carol", "bob", 201), ("bob", "carol", 201), ("late", "alice", 201),
                ("late", "carol", 404), ("carol", "late", 404), ("nobody", "alice", 404), ("bob", "stranger", 404),
            ] as [(String, String, UInt16)] {
                #expect(await report(of: user, by: reporter, store)?.status == status, "\(user) by \(reporter)")
            }
            let message = await send("hello", by: "bob", store)
            #expect(await report(message, of: "nobody", by: "alice", store)?.status == 404)
            #expect(await report(message, of: "bob", by: "alice", store)?.status == 201)
        }
    }

    @Test("the copy stays when the message is deleted, and has its files' ids; nobody is told")
    @Reactor func copies() async throws {
        try await withStore { store in
            let files = [StoreUnderTest.File(name: "a.pdf"), StoreUnderTest.File(name: "b.pdf")]
            let bare = Draft(text: "", files: files, extra: #"{"a":1}"#), gone = await send("gone", by: "bob", store)
            #expect(await store.send(bare, from: "bob", to: conversation).first?.status == 201)
            let ids = [ReportID(.random), ReportID(.random), ReportID(.random)]
            await store.settle()
            let told = [store.changes.count, store.privateChanges.count]
            let before = await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int
            #expect(await report(bare.id, by: "alice", id: ids[0], store)?.status == 201)
            #expect(await report(gone, by: "alice", id: ids[1], store)?.status == 201)
            #expect(await resolve(ids[1], store)?.status == 200)
            await store.settle()
            #expect(await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int == before)
            #expect([store.changes.count, store.privateChanges.count] == told)
            for message in [bare.id, gone] {
                #expect(await store.write(.deleteForEveryone(message), by: "bob", in: conversation)?.status == 204)
            }
            let withFiles = try #require(await copy(of: ids[0], store))
            #expect(withFiles["attachmentIds"] as? [String] == files.map { "\($0.id)" } && withFiles["text"] == nil)
            #expect((withFiles["extra"] as? [String: Any])?["a"] as? Int == 1)
            #expect(await copy(of: ids[1], store)?["text"] as? String == "gone")
            // What is deleted already is reported without a text.
            #expect(await report(gone, by: "carol", id: ids[2], store)?.status == 201)
            let late = try #require(await copy(of: ids[2], store))
            #expect(late["senderId"] as? String == "bob" && late["text"] == nil)
            #expect(late["extra"] == nil)
        }
    }

    // MARK: Repetitions and bounds

    @Test("the same again is the same report, also when nothing of it is seen any more; anything else is in conflict")
    @Reactor func repetition() async throws {
        try await withStore { store in
            let message = await send("hello", by: "bob", store), id = ReportID(.random)
            let first = await report(message, by: "alice", id: id, text: "why", store)
            #expect(first?.status == 201 && first?.field("text") as? String == "why")
            #expect(first?.field("reporterId") == nil && first?.field("message") == nil)
            _ = await store.write(.hide(message), by: "alice", in: conversation)
            _ = await resolve(id, as: .none, note: "nothing", store)
            let again = await report(message, by: "alice", id: id, text: "why", store)
            #expect(again?.status == 200 && again?.field("resolution") == nil)
            #expect(again?.field("createdAt") as? String == first?.field("createdAt") as? String)
            #expect(await report(message, by: "alice", id: id, text: "", store)?.status == 409)
            #expect(await report(of: "bob", by: "alice", id: id, text: "why", store)?.status == 409)
            #expect(await report(message, by: "carol", id: id, text: "why", store)?.status == 409)
        }
    }

    @Test("so many reports are open of one user, and one where there are very many; resolved ones do not count")
    @Reactor func bounds() async throws {
        try await withStore { store in
            let ids = (0..<ContractLimits.openReportsPerReporter).map { _ in ReportID(.random) }
            for id in ids { #expect(await report(of: "bob", by: "alice", id: id, store)?.status == 201) }
            #expect(await report(of: "bob", by: "alice", store)?.status == 409)
            #expect(await report(of: "bob", by: "alice", id: ids[0], store)?.status == 200)
            #expect(await report(of: "alice", by: "bob", store)?.status == 201)
            #expect(await resolve(ids[3], store)?.status == 200)
            #expect(await report(of: "bob", by: "alice", store)?.status == 201)
            #expect(await report(of: "bob", by: "alice", store)?.status == 409)
            // 21 are open.
            let rest = ContractLimits.openReportsPerConversation - 21
            try store.database.execute(
                """
                INSERT INTO store.reports (slot, conversation_id, id, reporter_id, reason, created_at, user_id)
                SELECT slot, conversation_id, gen_random_uuid(), 'user' || n, 1, now(), 'bob'
                FROM store.reports r, generate_series(1, \(rest)) n WHERE r.id = '\(ids[0])'
                """)
            #expect(await report(of: "bob", by: "carol", store)?.status == 201, "nobody is kept from reporting")
            #expect(await report(of: "bob", by: "carol", store)?.status == 409)
            for id in ids[4...5] { #expect(await resolve(id, store)?.status == 200) }
            #expect(await report(of: "bob", by: "carol", store)?.status == 201)
        }
    }

    // MARK: Administrators

    @Test(
        "a resolution says who did what and when, the last one counts, and what is kept no longer goes with later ones")
    @Reactor func resolution() async throws {
        try await withStore { store in
            let ids = (0..<15).map { _ in ReportID(.random) }
            for id in ids { #expect(await report(of: "bob", by: "alice", id: id, store)?.status == 201) }
            for id in ids.dropLast() { #expect(await resolve(id, as: .none, store)?.status == 200) }
            #expect(await resolve(ReportID(.random), store)?.status == 404)
            let again = await resolve(ids[0], as: .removed, note: "Case 7", store)
            let kept = again?.field("resolution") as? NSDictionary
            #expect(kept?["action"] as? String == "removed" && kept?["note"] as? String == "Case 7")
            #expect(kept?["resolvedBy"] as? String == "backend" && kept?["resolvedAt"] is String)
            try store.database.execute(
                "UPDATE store.reports SET resolved_at = resolved_at - interval '91 days' WHERE id <> '\(ids[0])'")
            // Also before it has gone.
            #expect(await read(ids[1], store)?.status == 404)
            #expect(await resolve(ids[1], store)?.status == 404)
            #expect(try await queue(areOpen: false, store).places.map(\.report) == [ids[0]])
            #expect(try count(store) == 15)
            // With each at most ten.
            #expect(await resolve(ids[0], as: .none, store)?.status == 200)
            #expect(try count(store) == 5)
            #expect(await report(of: "bob", by: "alice", store)?.status == 201)
            #expect(try count(store) == 3, "the one that is open, the one that was resolved of late, and the new one")
            #expect(await read(ids[0], store)?.field("resolution", "action") as? String == "none")
        }
    }

    @Reactor private func count(_ store: StoreUnderTest) throws -> Int {
        try store.database.query("SELECT FROM store.reports").count
    }

    /// The reports of the conversation's slot behind a place, and whether there are more.
    @Reactor private func queue(
        areOpen: Bool = true, limit: UInt16 = 50, after: ReportCursor = .start, _ store: StoreUnderTest
    ) async throws -> (places: [ReportCursor], hasMore: Bool) {
        let query = ReportsQuery(
            by: UserID("backend")!, in: conversation.slot, areOpen: areOpen, limit: limit, after: after)
        let reply = try #require(await store.ask(.reports, in: conversation.slot) { query.write(to: &$0) })
        #expect(reply.status == 200)
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let hasMore = try ReportsOfSlot.readHead(from: &reader)
            var places: [ReportCursor] = []
            while let (place, json) = try ReportsOfSlot.next(from: &reader) {
                #expect(String(decoding: json, as: UTF8.self).contains(#""id":"\#(place.report)""#))
                places.append(place)
            }
            return (places, hasMore)
        }
    }

    @Test("a slot has its reports in the order of their times and ids, behind a place and up to a size")
    @Reactor func queues() async throws {
        try await withStore(layout: .partitions(4)) { store in
            let message = await send(String(repeating: "x", count: ContractLimits.textBytes), by: "bob", store)
            for reporter in ["alice", "carol"] {
                for _ in 0..<20 { #expect(await report(message, by: reporter, store)?.status == 201) }
            }
            // Of one time, several.
            try store.database.execute("UPDATE store.reports SET created_at = date_trunc('second', created_at)")
            let first = try await queue(store)
            #expect(first.hasMore && first.places.count == ContractLimits.pageBytes / ContractLimits.textBytes)
            var all = first.places
            while true {
                let page = try await queue(limit: 3, after: all.last!, store)
                all += page.places
                if !page.hasMore { break }
                #expect(page.places.count == 3)
            }
            #expect(all.count == 40 && all == all.sorted() && Set(all).count == 40)
            #expect(await resolve(all[7].report, store)?.status == 200)
            let resolved = try await queue(areOpen: false, store)
            #expect(resolved.places == [all[7]] && !resolved.hasMore)
            let open = try await queue(after: all[6], store)
            #expect(open.places.first == all[8])
        }
    }

    // MARK: Erasure

    @Test("an erased user takes along what is theirs: a reporter's name and text, a sender's copy, a person's name")
    @Reactor func erasure() async throws {
        try await withStore { store in
            try await store.startReceipt()
            let own = await send("by bob", by: "bob", store), other = await send("by carol", by: "carol", store)
            let ids = (0..<4).map { _ in ReportID(.random) }
            #expect(await report(other, by: "bob", id: ids[0], text: "bob's words", store)?.status == 201)
            #expect(await report(own, by: "alice", id: ids[1], text: "alice's words", store)?.status == 201)
            #expect(
                await report(other, of: "bob", by: "alice", id: ids[2], text: "alice's words", store)?.status == 201)
            #expect(await report(own, of: "bob", by: "bob", id: ids[3], text: "bob's words", store)?.status == 201)
            for id in ids { #expect(await resolve(id, note: "note", store)?.status == 200) }
            // Those whom they left are found, too.
            #expect(await store.write(.removeMember(bob), by: "bob", in: conversation)?.status == 204)
            while await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))?.status != 200 {
                await Reactor.sleep(for: .milliseconds(10))
            }
            let rows = try store.database.query("SELECT string_agg(r::text, ' ') FROM store.reports r")
            #expect(!(rows[0][0] as String).contains("bob"))
            var fields: [[Any?]] = []
            for id in ids {
                let report = await read(id, store)
                #expect(report?.status == 200)
                fields.append([
                    report?.field("reporterId"), report?.field("text"), report?.field("userId"),
                    report?.field("message", "text"), report?.field("resolution", "note"),
                ])
            }
            #expect(
                fields.map { $0.map { $0 as? String } } == [
                    [nil, nil, nil, "by carol", "note"], ["alice", "alice's words", nil, nil, nil],
                    ["alice", "alice's words", nil, "by carol", nil], [nil, nil, nil, nil, nil],
                ])
            #expect(await report(own, by: "bob", store)?.status == 401)
        }
    }
}
