import Foundation
import Models
import ParleyDigest
import Testing

@testable import ParleyStorage

@Suite struct CopyTests {
    @Test("a message comes back exactly as it was stored")
    func exactness() throws {
        let store = try copy()
        let parent = Reference(messageId: messageId(77), seq: 3, senderId: ben, preview: "Sunday, nine?")
        var original = Message(
            id: messageId(5), conversationId: talk, seq: 5, changeSeq: 9, senderId: ben, kind: .reply,
            text: "Yes!\n\u{0}Café 🧗", sentAt: time(1_764_000_000_123), createdAt: time(1_764_000_000_456),
            editedAt: time(1_764_000_000_789), replyTo: parent,
            tapbacks: [Tapback(userId: anna, kind: .love), Tapback(userId: ben, kind: TapbackKind("🧗")!)],
            tapbackCounts: [.love: 1, TapbackKind("🧗")!: 1], mentions: [anna, ben],
            extra: [
                "place": .object(["lat": .number(53.5), "names": .array([.string("Pier"), .null])]),
                "n": .integer(.max),
            ],
            pinned: MessagePin(seq: 8, userId: anna, at: time(1_764_000_000_999)))
        try store.apply([.message(original)])
        #expect(try store.message(original.id, in: talk) == original)
        original.kind = .unknown("song")
        original.changeSeq = 10
        original.text = ""
        original.pinned = nil
        original.extra = [:]
        try store.apply([.message(original)])
        #expect(try store.message(original.id, in: talk) == original)
    }

    @Test("what an earlier version did not keep is taken from the same state of a message")
    func lateFields() throws {
        let store = try copy(lastSeq: 3)
        var whole = message(3)
        try store.apply([.message(whole)])
        whole.extra = ["a": .bool(true)]
        try store.apply([.message(whole)])
        #expect(try store.message(whole.id, in: talk) == whole)
        whole.pinned = MessagePin(seq: 3, userId: ben, at: time(1))
        try store.apply([.message(whole)])
        #expect(try store.message(whole.id, in: talk) == whole)
    }

    @Test("of two states of a message the one with the higher changeSeq stays, in either order")
    func newest() throws {
        for states in [[3, 7], [7, 3]] as [[Int64]] {
            let store = try copy()
            for changeSeq in states {
                try store.apply([.message(message(3, text: "state \(changeSeq)", changeSeq: changeSeq))])
            }
            #expect(try store.message(messageId(3), in: talk)?.text == "state 7")
        }
    }

    @Test("what the user hid or cleared does not come back by a change or a page")
    func hidden() throws {
        let store = try copy()
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        try store.apply([
            .privateChange(
                .init(useq: 1, kind: .messageHidden, at: time(1), conversationId: talk, messageId: messageId(9))),
            .privateChange(.init(useq: 2, kind: .historyCleared, at: time(1), conversationId: talk, throughSeq: 4)),
            .change(created(message(9, text: "again", changeSeq: 50)), movesCursor: false),
            .message(message(2, text: "again", changeSeq: 51)),
            .history(talk, history(1...10, of: 10), place: .newest),
        ])
        #expect(try store.rows().map(\.message.seq) == [5, 6, 7, 8, 10])
    }

    @Test("a message that a page does not have is gone, wherever it was hidden")
    func absence() throws {
        let store = try copy()
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        var page = history(1...10, of: 10)
        page.messages.remove(at: 5)
        try store.apply([.history(talk, page, place: .newest)])
        #expect(try store.rows().map(\.message.seq) == [1, 2, 3, 4, 5, 7, 8, 9, 10])
    }

    @Test("pages and changes become ranges that neither touch nor overlap")
    func ranges() throws {
        let store = try copy(lastSeq: 100)
        func expect(_ ranges: [ClosedRange<Int64>]) throws { #expect(try store.storedRanges(of: talk) == ranges) }
        try store.apply([.history(talk, history(91...100, of: 100), place: .newest)])
        try expect([91...100])
        try store.apply([.history(talk, history(40...49, of: 100), place: .around(45))])
        try expect([40...49, 91...100])
        try store.apply([.change(created(message(101)), movesCursor: true)])
        try expect([40...49, 91...101])
        try store.apply([.history(talk, history(81...90, of: 101), place: .before(91))])
        try expect([40...49, 81...101])
        try store.apply([.history(talk, history(50...80, of: 101), place: .after(49))])
        try expect([40...101])
        try store.apply([.outdated(talk, 60...69)])
        try expect([40...59, 70...101])
    }

    @Test("a page of before the copy followed the conversation does not count")
    func stalePage() throws {
        let store = try copy(lastSeq: 10)
        try store.apply([.history(talk, history(1...9, of: 9), place: .newest)])
        #expect(try store.storedRanges(of: talk).isEmpty)
    }

    @Test(
        "while it is not known what the user has hidden and set, settings are unknown, and changes do not show positions"
    )
    func unsure() throws {
        let store = try copy(lastSeq: 10)
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        try store.apply([.settingsInConversation(talk, SettingsInConversation(readReceipts: false, inherited: []))])
        try store.apply([.privateStream(50), .outdated(nil, 1...Int64.max)])
        #expect(try store.settings(in: talk) == nil)
        try store.apply([.change(created(message(11)), movesCursor: true)])
        // The user had hidden the twelfth message when the list was loaded; its change comes later.
        try store.apply([.conversation(head(lastSeq: 13), follows: false)])
        try store.apply((12...15).map { .change(created(message($0)), movesCursor: true) })
        #expect(try store.storedRanges(of: talk) == [14...15])
        var page = history(8...15, of: 15)
        page.messages.removeAll { $0.seq == 12 }
        try store.apply([.history(talk, page, place: .newest)])
        #expect(try store.rows().map(\.message.seq) == [8, 9, 10, 11, 13, 14, 15])
    }

    @Test("a conversation that was asked for before the private stream was interrupted makes nothing sure")
    func unsureStays() throws {
        let store = try copy(lastSeq: 10)
        try store.enqueue(.rename(title: "Monday"))
        let row = try #require(try store.outbox().first)
        try store.apply([.privateStream(50), .outdated(nil, 1...Int64.max)])
        // The response to a write may have been made before, when the twelfth message was not written and hidden yet.
        try store.complete(row, with: .conversation(head(lastSeq: 10)))
        try store.apply((11...13).map { .change(created(message($0)), movesCursor: true) })
        #expect(try store.storedRanges(of: talk).isEmpty)
    }

    @Test("what the user may have hidden meanwhile is not found, and is no preview when the list says so")
    func hiddenElsewhere() throws {
        let store = try copy(lastSeq: 10)
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        try store.apply([.privateStream(50), .outdated(nil, 1...Int64.max)])
        #expect(try store.search("text").isEmpty)
        #expect(try store.conversation(talk)?.lastMessage?.seq == 10)
        var told = head(lastSeq: 10)
        told.lastMessage = message(8)
        try store.apply([.conversation(told, follows: false)])
        #expect(try store.conversation(talk)?.lastMessage?.seq == 8)
        try store.apply([.history(talk, history(6...8, of: 10), place: .before(9))])
        #expect(try store.search("text").map(\.seq) == [8, 7, 6])
    }

    @Test("a timeline ends at a hole, and says what to load")
    func holes() throws {
        let store = try copy(lastSeq: 100)
        #expect(try store.timeline(of: talk, .newest, limit: 5).gap == .newest)
        try store.apply([.history(talk, history(91...100, of: 100), place: .newest)])
        let page = try store.timeline(of: talk, .newest, limit: 5)
        #expect(page.rows.map(\.message.seq) == [96, 97, 98, 99, 100])
        #expect(page.hasMoreBefore && !page.hasMoreAfter && page.gap == nil)
        #expect(try store.timeline(of: talk, .newest, limit: 20).gap == .before(91))
        #expect(try store.timeline(of: talk, .around(seq: 45), limit: 20).gap == .around(45))
        #expect(try store.timeline(of: talk, .around(seq: 95), limit: 4).rows.map(\.message.seq) == [94, 95, 96, 97])
    }

    @Test("unread messages are the server's count until the copy can count them, and then its own")
    func unread() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([
            .session(userId: anna, logId: .zero, useq: 0),
            .conversation(head(lastSeq: 100, unread: 42, readSeq: 50), follows: true),
        ])
        #expect(try store.conversation(talk)?.unreadCount == 42)
        try store.apply([.change(created(message(101)), movesCursor: true)])
        try store.apply([.change(created(message(102, by: anna)), movesCursor: true)])
        #expect(try store.conversation(talk)?.unreadCount == 43)
        try store.apply([.history(talk, history(51...100, of: 102), place: .before(101))])
        #expect(try store.conversation(talk)?.unreadCount == 51)
        try store.enqueue(.read(seq: 101))
        #expect(try store.conversation(talk)?.unreadCount == 0)
    }

    @Test("what is read of many unread messages is no longer counted, though the copy has not all of them")
    func unreadWithGap() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([
            .session(userId: anna, logId: .zero, useq: 0),
            .conversation(head(lastSeq: 100, unread: 42, readSeq: 50), follows: true),
            .history(talk, history(41...80, of: 100), place: .around(51)),
        ])
        try store.enqueue(.read(seq: 65))
        #expect(try store.conversation(talk)?.unreadCount == 27)
        try store.apply([.change(created(message(101)), movesCursor: true)])
        #expect(try store.conversation(talk)?.unreadCount == 28)
        // Beyond what the copy has there are no more than the positions that are left.
        try store.enqueue(.read(seq: 95))
        #expect(try store.conversation(talk)?.unreadCount == 6)
        try store.apply([.conversation(head(lastSeq: 101, unread: 100, readSeq: 95), follows: true)])
        #expect(try store.conversation(talk)?.unreadCount == 6)
    }

    @Test("what is deleted for everyone is no longer counted as unread, though the copy has it not")
    func unreadDeletedInGap() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([
            .session(userId: anna, logId: .zero, useq: 0),
            .conversation(head(lastSeq: 100, unread: 42, readSeq: 50), follows: true),
        ])
        func delete(_ seq: Int64, by sender: UserID = ben, at position: Int64) throws {
            var state = message(seq, by: sender, changeSeq: position)
            (state.text, state.deletedForEveryone, state.deletedAt) = (nil, true, time(position))
            let change = Change(
                conversationId: talk, seq: position, kind: .messageDeleted, at: time(position), actorId: sender,
                message: state)
            try store.apply([.change(change, movesCursor: true)])
        }
        try delete(60, at: 101)
        #expect(try store.conversation(talk)?.unreadCount == 41)
        // These were not counted: read before, the user's own, written after the count, deleted before it.
        try delete(50, at: 102)
        try delete(61, by: anna, at: 103)
        try store.apply([.change(created(message(104)), movesCursor: true)])
        try delete(104, at: 105)
        try store.apply([.history(talk, history(1...4, of: 105), place: .before(5))])
        #expect(try store.conversation(talk)?.unreadCount == 41)
        // Read since, where the copy has the messages, of which one was deleted since.
        try store.apply([.history(talk, history(51...55, of: 105), place: .around(51))])
        try delete(52, at: 106)
        #expect(try store.conversation(talk)?.unreadCount == 40)
        try store.enqueue(.read(seq: 55))
        #expect(try store.conversation(talk)?.unreadCount == 36)
        try store.apply([.conversation(head(lastSeq: 106, unread: 33, readSeq: 55), follows: false)])
        #expect(try store.conversation(talk)?.unreadCount == 33)
    }

    @Test("unread mentions are the server's count until the copy can count them, and then its own")
    func unreadMentions() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([
            .session(userId: anna, logId: .zero, useq: 0),
            .conversation(head(lastSeq: 100, unread: 42, mentions: 3, readSeq: 50), follows: true),
        ])
        func mentions() throws -> Int? {
            let one = try #require(try store.conversation(talk))
            #expect(try store.conversations(limit: 1).first?.unreadMentions == one.unreadMentions)
            #expect(try store.settledConversation(talk)?.unreadMentions == one.unreadMentions)
            return one.unreadMentions
        }
        func add(_ message: Message) throws { try store.apply([.change(created(message), movesCursor: true)]) }
        #expect(try mentions() == 3)
        try add(message(101, mentions: [ben]))
        try add(message(102, by: anna, mentions: [anna], mentionsAll: true))
        #expect(try mentions() == 3)
        try add(message(103, mentions: [ben, anna]))
        try add(message(104, mentionsAll: true))
        #expect(try mentions() == 5)
        // What was read of them, where the copy has it.
        var page = history(51...60, of: 104)
        page.messages[4] = message(55, mentions: [anna])
        try store.apply([.history(talk, page, place: .around(51))])
        #expect(try mentions() == 5)
        try store.enqueue(.read(seq: 55))
        #expect(try mentions() == 4)
        // What is deleted for everyone: in the copy, and counted by the server.
        func delete(_ seq: Int64, at position: Int64) throws {
            var state = message(seq, changeSeq: position)
            (state.text, state.deletedForEveryone, state.deletedAt) = (nil, true, time(position))
            let change = Change(
                conversationId: talk, seq: position, kind: .messageDeleted, at: time(position), actorId: ben,
                message: state)
            try store.apply([.change(change, movesCursor: true)])
        }
        try delete(104, at: 105)
        #expect(try mentions() == 3)
        #expect(try #require(try store.message(messageId(104), in: talk)).mentionsAll == false)
        var more = history(61...70, of: 105)
        more.messages[4] = message(65, mentions: [anna])
        try store.apply([.history(talk, more, place: .around(61))])
        #expect(try mentions() == 3)
        try delete(65, at: 106)
        #expect(try mentions() == 2)
        // Everything is here.
        try store.apply([.history(talk, history(56...100, of: 106), place: .around(80))])
        #expect(try mentions() == 1, "that of 103")
        try store.enqueue(.read(seq: 103))
        #expect(try mentions() == nil)
    }

    @Test("there are never more unread mentions than unread messages")
    func mentionsOfNothing() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([
            .session(userId: anna, logId: .zero, useq: 0),
            .conversation(head(lastSeq: 100, unread: 2, mentions: 2, readSeq: 90), follows: true),
        ])
        var state = message(95, changeSeq: 101)
        (state.text, state.deletedForEveryone, state.deletedAt) = (nil, true, time(101))
        let change = Change(
            conversationId: talk, seq: 101, kind: .messageDeleted, at: time(101), actorId: ben, message: state)
        try store.apply([.change(change, movesCursor: true)])
        #expect(try store.conversation(talk)?.unreadCount == 1 && store.conversation(talk)?.unreadMentions == 1)
    }

    @Test("a list that is read at once has the rows that are read one by one, latest activity first")
    func list() throws {
        let store = try LocalStore(path: ":memory:")
        try store.apply([.session(userId: anna, logId: .zero, useq: 0)])
        for number in UInt64(1)...30 {
            var talk = head(lastSeq: Int64(number), unread: Int(number) % 3)
            talk.id = ConversationID(UUIDBytes(high: 1, low: number))
            if !number.isMultiple(of: 4) {
                talk.lastMessage = message(Int64(number), by: number.isMultiple(of: 2) ? anna : ben)
                talk.lastMessage?.conversationId = talk.id
            }
            try store.apply([.conversation(talk, follows: true)])
        }
        let (rows, hasMore) = try store.list(limit: 20)
        #expect(rows.map(\.conversation.lastSeq) == (11...30).reversed())
        #expect(hasMore)
        for row in rows { #expect(try store.listRow(row.id) == row) }
        try store.setDraft(Draft(text: "half a"), in: rows[3].id, at: time(1), key: key(9))
        try store.enqueue(send("sent"), in: rows[5].id, message: messageId(99), at: time(5_000), key: key(1))
        let changed = try store.list(limit: 20, known: Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })).rows
        #expect(changed == rows)
        #expect(try store.list(limit: 40).rows.count == 30)
        let again = try store.list(limit: 20).rows
        #expect(again[3].draft?.text == "half a" && again[5].preview?.message.text == "sent")
        for row in again { #expect(try store.listRow(row.id) == row) }
    }

    @Test("a digest is that of the API guide's example")
    func digest() throws {
        struct Document: Decodable {
            struct Example: Decodable {
                struct Answer: Decodable { let pages: [HistoryDigest.Page] }
                let changes: [Change]
                let answer: Answer
            }
            let example: Example
            enum CodingKeys: String, CodingKey { case example = "x-parley-digest-example" }
        }
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
                "Services/Ingest/openapi.json")
        let example = try JSONDecoder().decode(Document.self, from: Data(contentsOf: file)).example
        let store = try LocalStore(path: ":memory:")
        try store.apply(example.changes.map { .change($0, movesCursor: true) })
        let page = example.answer.pages[0]
        let digest = try store.digest(of: page.fromSeq...page.toSeq, in: example.changes[0].conversationId)
        #expect(digest == page.state)
    }

    @Test(
        "SHA-256 is that of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (String(repeating: "a", count: 1_000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ])
    func sha256(text: String, digest: String) { #expect(SHA256Text.of(text) == digest) }

    @Test("search finds all words, the last by its beginning, without accents, and not what was deleted or edited away")
    func search() throws {
        let store = try copy()
        try store.apply([.message(message(1, text: "Sunday at the Café")), .message(message(2, text: "Sunday, ten?"))])
        #expect(try store.search("sun").map(\.seq) == [2, 1])
        #expect(try store.search("cafe SUNDAY").map(\.seq) == [1])
        #expect(try store.search("\"OR* -(").isEmpty)
        try store.apply([.message(message(2, text: "Monday, ten?", changeSeq: 12))])
        #expect(try store.search("sunday").map(\.seq) == [1])
        #expect(try store.search("ten").map(\.seq) == [2])
        // A tapback, of which the change brings the text as well.
        try store.apply([.message(message(1, text: "Sunday at the Café", changeSeq: 13))])
        #expect(try store.search("sunday").map(\.seq) == [1])
        try store.apply([
            .privateChange(
                .init(useq: 1, kind: .messageHidden, at: time(1), conversationId: talk, messageId: messageId(1)))
        ])
        #expect(try store.search("sunday").isEmpty)
    }

    @Test("a change of a message that the user has deleted for themselves, before the copy was, does not bring it back")
    func hiddenBefore() throws {
        let store = try copy(lastSeq: 5)
        let page = History(
            messages: [1, 2, 4, 5].map { message($0) }, hasMoreBefore: false, hasMoreAfter: false, lastSeq: 5)
        try store.apply([.history(talk, page, place: .newest)])
        var edit = created(message(3, text: "edited", changeSeq: 6))
        (edit.seq, edit.kind) = (6, .known(.messageEdited))
        try store.apply([.change(edit, movesCursor: true), .message(edit.message!)])
        #expect(try store.texts() == ["text 1", "text 2", "text 4", "text 5"])
    }

    @Test("receipts are what the server counted, or what the horizons say if that is more")
    func receipts() throws {
        let store = try copy()
        var own = message(5, by: anna)
        own.status = .known(.sent)
        own.recipientCount = 2
        try store.apply([.message(own)])
        let carla = UserID("carla")!
        try store.apply([
            .status(
                .init(
                    conversationId: talk, statusVersion: 1, delivered: [ben: 9, carla: 4], read: [ben: 5], at: time(1)))
        ])
        #expect(
            try store.receipts(of: 5, in: talk)
                == MessageReceipts(status: .sent, deliveredCount: 1, readCount: 1, recipientCount: 2))
        try store.apply([.status(.init(conversationId: talk, statusVersion: 2, read: [carla: 6], at: time(1)))])
        #expect(try store.receipts(of: 5, in: talk).status == .read)
    }

    @Test("a transaction that fails leaves nothing of it")
    func atomicity() throws {
        let store = try copy()
        #expect(throws: StorageError.self) {
            try store.write { () throws(StorageError) in
                try store.enqueue(send("never"), in: talk, message: messageId(1), at: time(1), key: key(1))
                throw StorageError(reason: .other, description: "for a test")
            }
        }
        #expect(try store.outbox().isEmpty)
    }
}
