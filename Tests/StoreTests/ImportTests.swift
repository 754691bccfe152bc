import Bytes
import Foundation
import Models
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// A history that is brought from elsewhere becomes one that happened here.
@Suite(.timeLimit(.minutes(2)))
struct ImportTests {
    init() { ReactorThread.start() }

    private let conversation = ConversationID(.random)
    private let alice = UserID("alice")!
    private let bob = UserID("bob")!
    private let carol = UserID("carol")!
    private let first = MessageID(.random)
    private let second = MessageID(.random)
    private let third = MessageID(.random)

    /// A minute of the first of January 2020.
    private func minute(_ number: Int64) -> Timestamp { Timestamp(milliseconds: 1_577_836_800_000 + number * 60_000) }

    private var opening: Line {
        .conversation(
            ImportRecord.Conversation(
                kind: .group, createdAt: minute(0), title: "Summer", members: [alice, bob]))
    }

    /// A record that owns its texts.
    private enum Line {
        case conversation(ImportRecord.Conversation)
        case message(
            MessageID, UserID, [(String, Timestamp)], replyTo: MessageID? = nil, attachments: String = "",
            extra: String = "", isSealed: Bool = false)
        case deleted(MessageID, UserID, at: Timestamp, deletedAt: Timestamp)
        case poll(MessageID, UserID, NewPoll, Timestamp)
        case vote(MessageID, UserID, UInt16, Timestamp)
        case pollClosed(MessageID, Timestamp, by: UserID? = nil)
        case tapback(MessageID, UserID, String, Timestamp)
        case member(ChangeKind, UserID, Timestamp, by: UserID? = nil)
        case title(String, Timestamp, by: UserID? = nil)
        case end

        func write(to buffer: inout ByteBuffer) {
            switch self {
            case .conversation(let record): ImportRecord.conversation(record).write(to: &buffer)
            case .message(let id, let sender, let texts, let parent, let attachments, let extra, let isSealed):
                let bytes = texts.map { Array($0.0.utf8) } + [Array(attachments.utf8), Array(extra.utf8)]
                Self.withBuffers(bytes) { buffers in
                    let message = ImportRecord.Message(
                        id: id, sender: sender, replyTo: parent, createdAt: texts[0].1, deletedAt: nil,
                        texts: zip(buffers, texts).map { ImportRecord.Message.Text($0, at: $1.1) },
                        attachments: buffers[texts.count], extra: buffers[texts.count + 1], isSealed: isSealed)
                    ImportRecord.message(message).write(to: &buffer)
                }
            case .deleted(let id, let sender, let at, let deletedAt):
                ImportRecord.message(
                    ImportRecord.Message(
                        id: id, sender: sender, replyTo: nil, createdAt: at, deletedAt: deletedAt, texts: [])
                ).write(to: &buffer)
            case .poll(let id, let sender, let poll, let at):
                Array("Which?".utf8).withUnsafeBytes { text in
                    let message = ImportRecord.Message(
                        id: id, sender: sender, replyTo: nil, createdAt: at, deletedAt: nil,
                        texts: [.init(text, at: at)], poll: poll)
                    ImportRecord.message(message).write(to: &buffer)
                }
            case .vote(let message, let user, let options, let at):
                let options = PollOptions(bits: options)
                ImportRecord.vote(ImportRecord.Vote(message: message, user: user, options: options, at: at)).write(
                    to: &buffer)
            case .pollClosed(let message, let at, let actor):
                ImportRecord.pollClosed(ImportRecord.PollClosing(of: message, at: at, by: actor)).write(to: &buffer)
            case .tapback(let message, let user, let kind, let at):
                ImportRecord.tapback(ImportRecord.Tapback(message: message, user: user, kind: kind, at: at)).write(
                    to: &buffer)
            case .member(let kind, let user, let at, let actor):
                ImportRecord.member(ImportRecord.MemberChange(kind, of: user, at: at, by: actor)).write(to: &buffer)
            case .title(let title, let at, let actor):
                ImportRecord.title(ImportRecord.Title(title, at: at, by: actor)).write(to: &buffer)
            case .end: ImportRecord.end.write(to: &buffer)
            }
        }

        private static func withBuffers(
            _ arrays: [[UInt8]], _ collected: [UnsafeRawBufferPointer] = [], _ body: ([UnsafeRawBufferPointer]) -> Void
        ) {
            guard collected.count < arrays.count else { return body(collected) }
            arrays[collected.count].withUnsafeBytes { withBuffers(arrays, collected + [$0], body) }
        }
    }

    private func text(_ id: MessageID, _ sender: UserID, _ text: String, _ at: Int64, replyTo: MessageID? = nil) -> Line
    {
        .message(id, sender, [(text, minute(at))], replyTo: replyTo)
    }

    /// Returns the status of each line, and what is said of those that are refused.
    @Reactor private func bring(_ lines: [Line], to store: StoreUnderTest) async throws -> [UInt16] {
        let reply = try #require(
            await store.ask(.importRecords, in: conversation.slot) { buffer in
                ImportRecords.writeHead(conversation, count: lines.count, to: &buffer)
                for line in lines { line.write(to: &buffer) }
            })
        try #require(reply.status == 200)
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var statuses: [UInt16] = []
            while !reader.isAtEnd { statuses.append(try SendResponse.next(from: &reader).status) }
            return statuses
        }
    }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try await body(store)
    }

    @Test(
        "attachments and what the application adds are imported as they are, kept by an edit, and exported byte for byte"
    )
    @Reactor func attachments() async throws {
        try await withStore { store in
            let files = #"[{"id":"\#(first)","name":"a.pdf","type":"application/pdf","size":7}]"#
            let bare = Line.message(first, alice, [("", minute(1))], attachments: files)
            let edited = Line.message(
                second, bob, [("", minute(2)), ("words", minute(4))], replyTo: first, attachments: files, extra: "{}")
            let plain = Line.message(third, bob, [("x", minute(3))], extra: #"{"n":1.0}"#)
            #expect(try await bring([opening, bare, edited, plain], to: store) == [200, 200, 200, 200])
            let without = Line.message(third, bob, [("x", minute(3))])
            #expect(try await bring([plain, without], to: store) == [200, 409])
            let other = Line.message(first, alice, [("", minute(1))], attachments: "[]")
            #expect(try await bring([bare, other, text(first, alice, "x", 1)], to: store) == [200, 409, 409])
            #expect(try await bring([.end], to: store) == [200])
            let history = await store.history(conversation, for: "bob")
            guard case .json(_, let json)? = history else {
                Issue.record("there is no history")
                return
            }
            #expect(json.components(separatedBy: #""attachments":\#(files)"#).count == 3)
            #expect(history?.field("messages", "1", "text") as? String == "words")
            let page = ExportPageQuery(conversation, reader: nil, .everything, after: 0, through: 9, state: 5)
            let reply = try #require(
                await store.ask(.exportPage, in: conversation.slot) { page.write(to: &$0) })
            let exported = try reply.payload.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes), found: [String] = []
                try ExportPage(from: &reader).forEachRecord { _, record in
                    guard case .message(let message) = record else { return }
                    found.append(
                        "\(message.texts.count) \(String(decoding: message.attachments, as: UTF8.self))"
                            + String(decoding: message.extra, as: UTF8.self))
                }
                return found
            }
            #expect(exported == ["1 \(files)", "2 \(files){}", #"1 {"n":1.0}"#])
            #expect(history?.field("messages", "1", "extra") != nil && json.contains(#""extra":{"n":1.0}"#))
        }
    }

    @Test("what is sealed is imported with its kind, known again by it, and exported so")
    @Reactor func sealed() async throws {
        try await withStore { store in
            // The first and the present one are exported, however long they are.
            let longest = ["A", "B"].map { String(repeating: $0, count: ContractLimits.sealedBytes) }
            let texts = [(longest[0], minute(1)), (longest[1], minute(2))]
            let sealed = Line.message(first, alice, texts, isSealed: true)
            let other = Line.message(second, bob, [("AAAA", minute(3))], isSealed: true)
            #expect(try await bring([opening, sealed, other], to: store) == [200, 200, 200])
            let plain = Line.message(second, bob, [("AAAA", minute(3))])
            #expect(try await bring([other, plain], to: store) == [200, 409])
            #expect(try await bring([.end], to: store) == [200])
            let history = await store.history(conversation, for: "bob")
            #expect(history?.field("messages", "0", "kind") as? String == "sealed")
            #expect(history?.field("messages", "0", "sealed") as? String == longest[1])
            #expect(history?.field("messages", "1", "sealed") as? String == "AAAA")
            let page = ExportPageQuery(conversation, reader: nil, .everything, after: 0, through: 4, state: 4)
            let reply = try #require(await store.ask(.exportPage, in: conversation.slot) { page.write(to: &$0) })
            let exported = try reply.payload.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes), found: [String] = []
                try ExportPage(from: &reader).forEachRecord { _, record in
                    guard case .message(let message) = record else { return }
                    let texts = message.texts.map { String(decoding: $0.text, as: UTF8.self) }
                    found.append("\(texts) \(message.isSealed)")
                }
                return found
            }
            #expect(exported == ["\(longest) true", #"["AAAA"] true"#])
        }
    }

    // MARK: Polls

    private let one = NewPoll(options: ["Sat \"1\"", "Sun", "é"], isMultiple: false)
    private let several = NewPoll(options: ["a", "b", "c"], isMultiple: true)

    /// Two polls, of which one is closed; bob changes his mind, carol goes.
    private var polls: [Line] {
        [
            .conversation(.init(kind: .group, createdAt: minute(0), title: "", members: [alice, bob, carol])),
            .poll(first, alice, one, minute(1)), .poll(second, bob, several, minute(1)),
            .vote(first, bob, 0b100, minute(2)), .vote(first, bob, 0b10, minute(3)),
            .vote(first, carol, 0b10, minute(3)), .vote(second, carol, 0b101, minute(3)),
            .vote(second, alice, 0b111, minute(4)), .pollClosed(first, minute(5), by: carol),
            .member(.memberRemoved, carol, minute(6), by: alice), .vote(second, bob, 0b1, minute(7)), .end,
        ]
    }

    /// What is stored of polls, but for times.
    @Reactor private func storedPolls(_ store: StoreUnderTest) throws -> String {
        try store.database.query(
            """
            SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
                SELECT 'poll ' || ROW(message_id, options, is_multiple, counts, voters, closed_seq, closed_at IS NULL)::text AS line
                FROM store.polls
                UNION ALL SELECT 'vote ' || ROW(message_id, user_id, options, seq)::text FROM store.votes
                UNION ALL SELECT 'message ' || ROW(seq, id, changed_seq, sender_id, kind, body)::text FROM store.messages
                WHERE kind = 5
                UNION ALL SELECT 'change ' || ROW(seq, kind, actor_id, message_id)::text FROM store.changes WHERE kind > 14
            ) l
            """)[0][0]
    }

    @Test("polls and votes are stored as live ones are, however they are cut and repeated")
    @Reactor func storedAsLive() async throws {
        var live = ""
        try await withStore { (store) async throws in
            _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
            let asked = StoreUnderTest.Draft(id: first, text: "Which?", poll: one)
            let other = StoreUnderTest.Draft(id: second, text: "Which?", poll: several)
            _ = await store.send(asked, from: "alice", to: conversation)
            _ = await store.send(other, from: "bob", to: conversation)
            func vote(_ user: String, _ message: MessageID, _ bits: UInt16) async {
                let vote = Write.Action.vote(message, PollOptions(bits: bits))
                #expect(await store.write(vote, by: user, in: conversation)?.status == 200)
            }
            await vote("bob", first, 0b100)
            await vote("bob", first, 0b10)
            await vote("carol", first, 0b10)
            await vote("carol", second, 0b101)
            await vote("alice", second, 0b111)
            _ = await store.write(.putMember(carol, .admin), by: "alice", in: conversation)
            #expect(await store.write(.closePoll(first), by: "carol", in: conversation)?.status == 200)
            _ = await store.write(.removeMember(carol), by: "alice", in: conversation)
            await vote("bob", second, 0b1)
            live = try storedPolls(store)
        }
        for size in [12, 1, 5] {
            try await withStore { (store) async throws in
                // In place of the role, which no archive has.
                var lines = polls
                lines.insert(.title("x", minute(4), by: alice), at: 8)
                for start in stride(from: 0, to: lines.count, by: size) {
                    let end = min(start + size, lines.count)
                    #expect(try await bring(Array(lines[start..<end]), to: store).allSatisfy { $0 == 200 })
                    #expect(try await bring(Array(lines[..<end]), to: store).allSatisfy { $0 == 200 })
                }
                #expect(try storedPolls(store) == live)
                let shown = await store.message(second, for: "alice", in: conversation)
                #expect(shown?.field("poll", "voters") as? Int == 3)
            }
        }
    }

    @Test("a vote that cannot have been is refused, and so is a poll that another one has the id of")
    @Reactor func refusedVotes() async throws {
        try await withStore { (store) async throws in
            let other = NewPoll(options: ["Sat", "Sun"], isMultiple: false)
            var multiple = one
            multiple.isMultiple = true
            let lines: [(Line, UInt16)] = [
                (opening, 200), (.poll(first, alice, one, minute(1)), 200), (text(second, alice, "plain", 1), 200),
                (.deleted(third, alice, at: minute(1), deletedAt: minute(2)), 200),
                (.poll(first, alice, other, minute(1)), 409), (.poll(first, alice, multiple, minute(1)), 409),
                (text(first, alice, "Which?", 1), 409), (.poll(second, alice, one, minute(1)), 409),
                (.vote(first, bob, 0b1000, minute(3)), 400), (.vote(first, bob, 0b11, minute(3)), 400),
                (.vote(first, bob, .max, minute(3)), 400), (.vote(second, bob, 1, minute(3)), 409),
                (.vote(third, bob, 1, minute(3)), 409), (.vote(MessageID(.random), bob, 1, minute(3)), 404),
                (.vote(first, carol, 1, minute(3)), 409), (.pollClosed(second, minute(3)), 409),
                (.pollClosed(third, minute(3)), 409), (.pollClosed(MessageID(.random), minute(3)), 404),
                (.pollClosed(first, minute(3), by: carol), 409), (.vote(first, alice, 1, minute(3)), 200),
                (.member(.memberAdded, carol, minute(4)), 200), (.vote(first, carol, 1, minute(5)), 404),
                (.vote(first, bob, 1, minute(2)), 409), (.pollClosed(first, minute(5)), 200),
                (.pollClosed(first, minute(6), by: bob), 200), (.vote(first, bob, 1, minute(6)), 409),
                (.vote(first, alice, 1, minute(3)), 200),
            ]
            #expect(try await bring(lines.map(\.0), to: store) == lines.map(\.1))
            // What was stored may come again.
            for (line, _) in lines.filter({ $0.1 == 200 }) {
                #expect(try await bring([line], to: store) == [200], "\(line)")
            }
            #expect(try count("store.votes", store) == 1)
            #expect(try count("store.changes WHERE kind = 16 AND actor_id = 'alice'", store) == 1)
        }
    }

    /// The history of the tests: an edit and a deletion that come later than the messages behind theirs.
    private var history: [Line] {
        [
            opening, .message(first, alice, [("hello", minute(1)), ("hello, all", minute(6))]),
            .deleted(second, bob, at: minute(2), deletedAt: minute(9)),
            .tapback(first, bob, "love", minute(3)), .member(.memberAdded, carol, minute(4), by: alice),
            text(third, alice, "and me", 7, replyTo: first), .title("Autumn", minute(8), by: carol),
            .member(.memberRemoved, bob, minute(10), by: alice), .end,
        ]
    }

    /// All rows of a conversation, without the random ids of system messages.
    @Reactor private func content(_ store: StoreUnderTest) throws -> String {
        try store.database.query(
            """
            SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
                SELECT 'message ' || ROW(seq, CASE WHEN kind < 3 THEN id END, changed_seq, sender_id, kind, body,
                    reply_to, reply_seq, sent_at, created_at, edited_at, deleted_at, tapback_count)::text AS line FROM store.messages
                UNION ALL SELECT 'change ' || h::text FROM store.changes h
                UNION ALL SELECT 'revision ' || r::text FROM store.revisions r
                UNION ALL SELECT 'tapback ' || r::text FROM store.tapbacks r
                UNION ALL SELECT 'stay ' || s::text FROM store.memberships s
                UNION ALL SELECT 'conversation ' || c::text FROM store.conversations c
                UNION ALL SELECT 'list ' || i::text FROM store.inbox i
            ) l
            """)[0][0]
    }

    @Test("what happened takes positions in the order of time, whatever the order of lines")
    @Reactor func positions() async throws {
        try await withStore { (store) async throws in
            #expect(try await bring(history, to: store) == Array(repeating: 200, count: 9))
            let rows = try store.database.query(
                """
                SELECT string_agg(what, ' ' ORDER BY seq) FROM (
                    SELECT seq, 'm' || kind AS what FROM store.messages WHERE kind < 3
                    UNION ALL SELECT seq, 'c' || kind FROM store.changes) f
                """)
            // created, two messages, a tapback, added, the edit, a reply, renamed, the deletion, removed
            #expect(rows[0][0] as String == "c8 m1 m1 c4 c6 c2 m2 c9 c3 c7")
            let times = try store.database.query(
                """
                SELECT bool_and(at >= before) FROM (SELECT at, lag(at, 1, at) OVER (ORDER BY seq) AS before FROM (
                    SELECT seq, created_at AS at FROM store.messages WHERE kind < 3
                    UNION ALL SELECT seq, at FROM store.changes) f) t
                """)
            #expect(times[0][0] as Bool)
        }
    }

    @Test("readers see it as if it had happened here: texts, tapbacks, titles, and the windows of their stays")
    @Reactor func reading() async throws {
        try await withStore { (store) async throws in
            _ = try await bring(history, to: store)
            let edited = try #require(await store.message(first, for: "carol", in: conversation))
            #expect(edited.status == 404, "carol came later")
            let own = try #require(await store.message(first, for: "alice", in: conversation))
            #expect(own.field("text") as? String == "hello, all")
            #expect((own.field("editedAt") as? String)?.hasPrefix("2020-01-01T00:06:00") == true)
            #expect(own.field("tapbackCounts", "love") as? Int == 1)
            let deleted = try #require(await store.message(second, for: "bob", in: conversation))
            #expect(deleted.field("deletedForEveryone") as? Bool == true)
            let reply = try #require(await store.message(third, for: "alice", in: conversation))
            #expect(reply.field("replyTo", "preview") as? String == "hello, all")
            let seen = try #require(await store.conversation(conversation, for: "bob"))
            #expect(seen.field("lastSeq") as? Int == 10)
            #expect(seen.field("title") as? String == "Autumn")
            #expect((seen.field("windows") as? [Any])?.count == 1)
        }
    }

    @Test("it makes no difference how an import is cut, how often its lines come, and whether the store dies meanwhile")
    @Reactor func repeating() async throws {
        var contents: [String] = []
        for size in [9, 1, 4] {
            try await withStore { (store) async throws in
                for start in stride(from: 0, to: history.count, by: size) {
                    let piece = Array(history[start..<min(start + size, history.count)])
                    #expect(try await bring(piece, to: store).allSatisfy { $0 == 200 })
                    if size == 4 { try await store.crash() }
                    // From any line: all that came so far comes again.
                    let again = Array(history[..<(start + piece.count)])
                    #expect(try await bring(again, to: store).allSatisfy { $0 == 200 })
                }
                contents.append(try content(store))
            }
        }
        #expect(Set(contents).count == 1)
    }

    @Test("until the end nobody reads it, and writes of its members are in conflict; then all learn of it")
    @Reactor func open() async throws {
        try await withStore { (store) async throws in
            #expect(try await bring(Array(history.dropLast()), to: store).allSatisfy { $0 == 200 })
            #expect(await store.conversation(conversation, for: "alice")?.status == 404)
            #expect(await store.send(.init(), from: "alice", to: conversation).map(\.status) == [409])
            #expect(await store.send(.init(), .init(), from: "alice", to: conversation).map(\.status) == [409, 409])
            #expect(await store.send(.init(), from: "mallory", to: conversation).map(\.status) == [404])
            #expect(await store.write(.rename("x"), by: "alice", in: conversation)?.status == 409)
            #expect(await store.write(.rename("x"), by: "mallory", in: conversation)?.status == 404)
            #expect(store.privateChanges.isEmpty && store.changes.isEmpty)
            #expect(try await bring([.end], to: store) == [200])
            #expect(await store.eventually { store.privateChanges.count == 4 })
            #expect(store.privateChanges.map(\.user.name).sorted() == ["alice", "bob", "bob", "carol"])
            #expect(await store.send(.init(), from: "alice", to: conversation).map(\.status) == [201])
            #expect(await store.send(.init(), from: "bob", to: conversation).map(\.status) == [403])
            #expect(try await bring([text(MessageID(.random), alice, "late", 20)], to: store) == [409])
            #expect(try await bring([.end], to: store) == [200])
        }
    }

    @Test("a line that cannot have happened is refused alone, with the status that names why")
    @Reactor func refusals() async throws {
        try await withStore { (store) async throws in
            #expect(try await bring([text(first, alice, "no import", 1)], to: store) == [404])
            let future = Timestamp(milliseconds: 7_000_000_000_000)
            let lines: [(Line, UInt16)] = [
                (opening, 200), (text(first, alice, "one", 5), 200), (text(second, bob, "earlier", 4), 409),
                (text(first, bob, "another's", 5), 409), (text(first, alice, "other words", 5), 409),
                (.message(third, alice, [("now", minute(5)), ("later than now", future)]), 400),
                (text(second, carol, "not in it", 6), 409),
                (text(third, bob, "reply", 6, replyTo: MessageID(.random)), 422),
                (.tapback(third, bob, "love", minute(6)), 404), (.tapback(first, carol, "love", minute(6)), 409),
                (.member(.memberAdded, bob, minute(6)), 409), (.member(.memberRemoved, carol, minute(6)), 409),
                (.member(.memberAdded, carol, minute(6), by: UserID("mallory")!), 409),
                (.title("x", minute(3)), 409), (text(second, bob, "two", 6), 200),
            ]
            #expect(try await bring(lines.map(\.0), to: store) == lines.map(\.1))
            // Each alone gives the same.
            for (line, status) in lines { #expect(try await bring([line], to: store) == [status], "\(line)") }
            #expect(try count("store.messages", store) == 2)
        }
    }

    @Test("an import that has not ended can be dropped, in pieces, and begun anew; one that has ended cannot")
    @Reactor func dropping() async throws {
        try await withStore { (store) async throws in
            let many = (0..<Int64(DropImport.rowsPerStep)).map { text(MessageID(.random), alice, "one", $0 + 1) }
            let poll: [Line] = [opening, .poll(first, alice, one, minute(1)), .vote(first, bob, 1, minute(1))]
            #expect(try await bring(poll, to: store) == [200, 200, 200])
            for start in stride(from: 0, to: many.count, by: 1000) {
                _ = try await bring(Array(many[start..<start + 1000]), to: store)
            }
            #expect(try await drop(store, receiptsAreGone: false) == 202)
            #expect(try await bring([opening, text(first, alice, "one", 9_000), .end], to: store) == [409, 409, 409])
            #expect(try await drop(store, receiptsAreGone: true) == 202)
            // 404 where the bus repeated the request before, because the piece took long: then that removed the rest.
            #expect([204, 404].contains(try await drop(store, receiptsAreGone: true)))
            #expect(try await drop(store, receiptsAreGone: false) == 404)
            for table in [
                "conversations", "messages", "changes", "imports", "import_stays", "inbox", "search_blocks", "polls",
                "votes",
            ] { #expect(try count("store.\(table)", store) == 0, "\(table)") }
            #expect(try count("store.user_streams WHERE conversation_count <> 0", store) == 0)
            #expect(try await bring(history, to: store).allSatisfy { $0 == 200 })
            #expect(try await drop(store, receiptsAreGone: false) == 409)
        }
    }

    /// Closes the import; if its receipts are gone, takes a piece of it away.
    @Reactor private func drop(_ store: StoreUnderTest, receiptsAreGone: Bool) async throws -> UInt16 {
        let step = DropImport(conversation, receiptsAreGone: receiptsAreGone)
        return try #require(await store.ask(.dropImport, in: conversation.slot, step)).status
    }

    @Test("another conversation is not taken over")
    @Reactor func taken() async throws {
        try await withStore { (store) async throws in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            #expect(try await bring([opening, text(first, alice, "one", 1), .end], to: store) == [409, 404, 404])
        }
    }

    @Test("a user who is erased while an import is open leaves nothing in it")
    @Reactor func erased() async throws {
        try await withStore { (store) async throws in
            try await store.startReceipt()
            let lines = [
                opening, .message(first, bob, [("secret", minute(1)), ("secret too", minute(9))]),
                text(second, alice, "public", 2), .poll(third, alice, several, minute(2)),
                .vote(third, bob, 0b11, minute(2)), .vote(third, alice, 0b10, minute(2)),
            ]
            #expect(try await bring(lines, to: store).allSatisfy { $0 == 200 })
            _ = await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))
            let erased = "store.erasures WHERE erased_at IS NOT NULL"
            #expect(await store.eventually { (try? count(erased, store)) == 1 })
            #expect(try await bring([text(MessageID(.random), bob, "more", 3)], to: store) == [409])
            #expect(try await bring([.vote(third, alice, 0b10, minute(2))], to: store) == [200])
            let counted = try store.database.query("SELECT counts::text || voters FROM store.polls")
            #expect(counted.map { $0[0] } == ["{0,1,0}1"])
            #expect(try await bring([.end], to: store) == [200])
            #expect(try count("store.messages WHERE body LIKE '%secret%'", store) == 0)
            #expect(try count("store.memberships WHERE user_id = 'bob'", store) == 0)
            #expect(await store.conversation(conversation, for: "alice")?.status == 200)
        }
    }

    @Reactor private func count(_ rows: String, _ store: StoreUnderTest) throws -> Int64 {
        try store.database.query("SELECT count(*) FROM \(rows)")[0][0]
    }

    @Test("a run of messages ends before a repetition and before a reply to one of it")
    func runs() {
        func message(_ id: MessageID, replyTo: MessageID? = nil) -> ImportRecord {
            .message(
                ImportRecord.Message(
                    id: id, sender: alice, replyTo: replyTo, createdAt: minute(0), deletedAt: minute(0), texts: []))
        }
        let records = [
            message(first), message(second), message(first), message(third, replyTo: second),
            message(second, replyTo: first), .end, message(first),
        ]
        #expect(
            ImportRun.cut(records) == [
                .messages(0..<2), .messages(2..<4), .messages(4..<5), .record(5), .messages(6..<7),
            ])
    }
}
