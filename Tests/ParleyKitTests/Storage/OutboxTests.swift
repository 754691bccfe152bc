import Foundation
import Models
import ParleySync
import Testing

@testable import ParleyStorage

@Suite struct OutboxTests {
    @Test("what is written shows at once, last and in the order of writing")
    func optimism() throws {
        let store = try copy()
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        try store.enqueue(send("one"), messageId(101))
        try store.enqueue(send("two", replyTo: messageId(101)), messageId(102))
        let rows = try store.rows().suffix(2)
        #expect(rows.map(\.message.text) == ["one", "two"])
        #expect(rows.map(\.state) == [.sending, .sending])
        #expect(rows.last?.parent?.preview == "one")
    }

    @Test("edits and deletions of what nobody has seen yet join it")
    func joining() throws {
        let store = try copy()
        try store.enqueue(send("one"), messageId(101))
        try store.enqueue(.edit(text: "better"), messageId(101))
        #expect(try store.outbox().map(\.write) == [send("better")])
        try store.enqueue(.deleteForEveryone, messageId(101))
        #expect(try store.outbox().isEmpty)
    }

    @Test("what the server may know already is not changed: later writes wait behind it")
    func tried() throws {
        let store = try copy()
        try store.enqueue(send("one"), messageId(101))
        try store.markTried(store.outbox().map(\.key))
        try store.enqueue(.edit(text: "better"), messageId(101), key: 2)
        #expect(try store.outbox().map(\.write) == [send("one"), .edit(text: "better")])
        #expect(try store.texts() == ["better"])
        try store.enqueue(.deleteForEveryone, messageId(101), key: 3)
        #expect(try store.outbox().map(\.write) == [send("one"), .deleteForEveryone])
    }

    @Test(
        "a later write takes the place of an earlier one of its kind",
        arguments: [
            (.setTapback(.love), .setTapback(.like), .setTapback(.like)),
            (.setTapback(.love), .removeTapback, .removeTapback),
            (.edit(text: "a"), .edit(text: "b"), .edit(text: "b")),
            (.deleteForMe, .deleteForEveryone, .deleteForEveryone),
        ] as [(PendingWrite, PendingWrite, PendingWrite)])
    func replacing(first: PendingWrite, second: PendingWrite, rest: PendingWrite) throws {
        let store = try copy()
        try store.enqueue(first, messageId(3), key: 1)
        try store.enqueue(second, messageId(3), key: 2)
        #expect(try store.outbox().map(\.write) == [rest])
    }

    @Test("an edit, a tapback and a deletion show at once, and are undone when they are refused")
    func rollback() throws {
        let store = try copy(lastSeq: 3)
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest)])
        let before = try store.rows()
        try store.enqueue(.edit(text: "edited"), messageId(1))
        try store.enqueue(.setTapback(.love), messageId(2))
        try store.enqueue(.deleteForEveryone, messageId(3))
        let rows = try store.rows()
        #expect(rows[0].message.text == "edited")
        #expect(rows[1].message.tapbacks == [Tapback(userId: anna, kind: .love)])
        #expect(rows[1].message.tapbackCounts == [.love: 1])
        #expect(rows[2].message.deletedForEveryone && rows[2].message.text == nil)
        for row in try store.outbox() { try store.refuse(row, problem(.forbidden)) }
        #expect(try store.rows() == before)
        let refused = try store.outbox()
        #expect(refused.allSatisfy { $0.state == .refused && $0.problem?.code == .known(.forbidden) })
        for row in refused { try store.dismiss(row.key) }
        #expect(try store.outbox().isEmpty)
    }

    @Test("a pin shows at once, stays as the server told it, and what is deleted has none")
    func pins() throws {
        let store = try copy(lastSeq: 3)
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest)])
        var told = message(2, changeSeq: 4)
        told.pinned = MessagePin(seq: 4, userId: ben, at: time(9))
        try store.apply([.message(told)])
        for number in 1...3 as ClosedRange<UInt64> {
            try store.enqueue(.pinMessage(true), messageId(number), key: number)
        }
        try store.enqueue(.deleteForEveryone, messageId(3), key: 4)
        let pins = try store.rows().map(\.message.pinned)
        #expect(pins[0]?.userId == anna && pins[0]?.seq == .max && pins[1] == told.pinned && pins[2] == nil)
        try store.enqueue(.pinMessage(false), messageId(1), key: 5)
        #expect(try store.outbox().filter { $0.message == messageId(1) }.map(\.write) == [.pinMessage(false)])
        #expect(try store.rows()[0].message.pinned == nil)
        for row in try store.outbox() { try store.refuse(row, problem(.forbidden)) }
        #expect(try store.rows().map(\.message.pinned) == [nil, told.pinned, nil])
        for isRepetition in [true, false] {
            try store.enqueue(.pinMessage(false), messageId(2), key: isRepetition ? 6 : 7)
            let waiting = try store.outbox().filter { $0.state == .waiting }.map(\.key)
            if isRepetition { try store.markTried(waiting) }
            for row in try store.outbox() where waiting.contains(row.key) { try store.complete(row, with: .done) }
            #expect(try store.message(messageId(2), in: talk)?.pinned == (isRepetition ? told.pinned : nil))
        }
    }

    @Test("a vote shows at once, the last one is sent, and what others do leaves it")
    func votes() throws {
        let store = try copy(lastSeq: 3)
        func asked(_ seq: Int64, _ votes: [Int], _ voters: Int, by user: UserID? = nil, _ options: [Int] = [])
            -> Message
        {
            var told = message(2, changeSeq: seq)
            told.kind = .known(.poll)
            told.poll = Poll(
                options: votes.map { Poll.Option(text: "a", votes: $0) }, multiple: true, voters: voters,
                vote: user.map { Poll.Vote(userId: $0, options: options) })
            return told
        }
        func shown() throws -> String? {
            try store.rows()[1].message.poll.map { poll in
                let vote = poll.vote.map { "\($0.options)" } ?? "-"
                return "\(poll.options.map(\.votes)) \(poll.voters) \(vote)" + (poll.closedAt == nil ? "" : " closed")
            }
        }
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest), .message(asked(4, [1, 0], 1))])
        #expect(try shown() == "[1, 0] 1 -")
        try store.enqueue(.vote([0, 1]), messageId(2), key: 1)
        try store.enqueue(.vote([1]), messageId(2), key: 2)
        #expect(try shown() == "[1, 1] 2 [1]")
        let rows = try store.outbox()
        #expect(rows.map(\.write) == [.vote([1])])
        try store.complete(rows[0], with: .message(asked(5, [1, 1], 2, by: anna, [1])))
        #expect(try shown() == "[1, 1] 2 [1]")
        try store.apply([.message(asked(6, [2, 1], 3, by: ben, [0]))])
        #expect(try shown() == "[2, 1] 3 [1]")
        try store.enqueue(.closePoll, messageId(2), key: 3)
        #expect(try shown() == "[2, 1] 3 [1] closed")
        for row in try store.outbox() { try store.refuse(row, problem(.pollClosed)) }
        #expect(try shown() == "[2, 1] 3 [1]")
        let poll = RequestBody.NewPoll(options: ["a", "b"])
        try store.enqueue(
            .send(text: "?", replyTo: nil, mentions: [], sentAt: time(7), poll: poll), messageId(101), key: 4)
        let unsent = try #require(try store.rows().last?.message)
        #expect(unsent.kind == .poll && unsent.poll?.options.count == 2)
        try store.enqueue(.deleteForEveryone, messageId(2), key: 5)
        #expect(try shown() == nil)
    }

    @Test("what is forwarded waits with the text of the copy, is joined by no edit, and becomes what the server has")
    func forwarded() throws {
        let store = try copy()
        let origin = Forwarded(userId: ben, sentAt: time(1))
        let file = Attachment(id: MediaID(UUIDBytes(high: 1, low: 2)), name: "a.png", type: "image/png", size: 3)
        let write = PendingWrite.forward(
            .init(conversationId: talk, messageId: messageId(2), origin: true),
            shown: .init(text: "known", attachments: [file], forwarded: origin),
            sentAt: time(7))
        try store.enqueue(write, messageId(101))
        let shown = try #require(try store.rows().last?.message)
        #expect(shown.attachments == [file])
        #expect((shown.text, shown.forwarded) == ("known", origin) && write.joined(by: .edit(text: "b")) == nil)
        let row = try #require(try store.outbox().first)
        let body = try #require(OutboxCall.single(row).form.body)
        let sent = try JSONDecoder().decode(RequestBody.NewMessage.self, from: body)
        #expect(
            sent
                == .init(
                    id: messageId(101), text: nil,
                    forward: .init(conversationId: talk, messageId: messageId(2), origin: true), sentAt: time(7)))
        var stored = message(11, by: anna)
        (stored.id, stored.text, stored.forwarded) = (messageId(101), "edited since", origin)
        try store.complete(row, with: .message(stored))
        let kept = try store.message(messageId(101), in: talk)
        #expect((kept?.text, kept?.forwarded) == ("edited since", origin))
        try store.enqueue(.deleteForEveryone, messageId(101), key: 4)
        for row in try store.outbox() { try store.complete(row, with: .done) }
        #expect(try store.message(messageId(101), in: talk)?.forwarded == nil)
    }

    @Test("what is sealed waits, is joined by an edit of its kind alone, and is sent without a text")
    func sealed() throws {
        let store = try copy()
        try store.enqueue(
            .send(text: "AAAA", replyTo: nil, mentions: [ben], sentAt: time(7), isSealed: true), messageId(101))
        try store.enqueue(.edit(text: "BBBB", isSealed: true), messageId(101), key: 2)
        let shown = try #require(try store.rows().last?.message)
        #expect(shown.kind == .sealed && shown.text == nil && shown.sealed == "BBBB" && shown.mentions == [ben])
        #expect(shown.previewText == "Encrypted message")
        let rows = try store.outbox()
        #expect(rows.count == 1)
        #expect(
            PendingWrite.send(text: "a", replyTo: nil, mentions: [], sentAt: time(7), isSealed: true)
                .joined(by: .edit(text: "b")) == nil)
        var stored = message(11, by: anna)
        (stored.kind, stored.text, stored.sealed) = (.known(.sealed), nil, "BBBB")
        stored.id = messageId(101)
        try store.complete(rows[0], with: .message(stored))
        #expect(try store.message(messageId(101), in: talk)?.sealed == "BBBB")
        try store.enqueue(.edit(text: "CCCC", isSealed: true), messageId(101), key: 3)
        let edited = try store.rows().last?.message
        #expect(edited?.sealed == "CCCC" && edited?.text == nil && edited?.editedAt != nil)
        try store.enqueue(.deleteForEveryone, messageId(101), key: 4)
        #expect(try store.rows().last?.message.sealed == nil)
        for row in try store.outbox() { try store.complete(row, with: .done) }
        #expect(try store.message(messageId(101), in: talk)?.sealed == nil)
    }

    @Test("what the application adds goes with its message, through an edit and another id")
    func extras() throws {
        let store = try copy()
        let extra: [String: JSONValue] = ["b": .integer(1), "a": .array([.null, .number(1.5)])]
        let write = PendingWrite.send(
            text: "one", replyTo: nil, mentions: [], sentAt: time(7), extra: extra, mentionsAll: true)
        try store.enqueue(write, messageId(101))
        try store.enqueue(.edit(text: "better"), messageId(101), key: 2)
        try store.enqueue(send("two", replyTo: messageId(101)), messageId(102), key: 3)
        #expect(try store.rows().map(\.message.extra) == [extra, nil])
        try store.refuse(store.outbox()[0], problem(.conflict))
        try store.retry(messageId(101), in: talk, newId: messageId(201))
        let expected = PendingWrite.send(
            text: "better", replyTo: nil, mentions: [], sentAt: time(7), extra: extra, mentionsAll: true)
        #expect(try store.outbox()[0].write == expected)
        // A row of before has none.
        let before = #"{"send":{"text":"x","mentions":[],"sentAt":"1970-01-01T00:00:00.007Z"}}"#
        #expect(before.decoded(as: PendingWrite.self) == send("x"))
    }

    @Test("a refused message fails with its reason, keeps its parent, and holds the later ones back")
    func failure() throws {
        let store = try copy()
        try store.enqueue(send("one", replyTo: messageId(3)), messageId(101))
        try store.markTried(store.outbox().map(\.key))
        try store.enqueue(.edit(text: "better"), messageId(101), key: 2)
        try store.enqueue(send("two"), messageId(102), key: 3)
        try store.refuse(store.outbox()[0], problem(.notReplyable))
        #expect(try store.outbox().map(\.write) == [send("better", replyTo: messageId(3)), send("two")])
        #expect(try store.rows().map(\.state) == [.failed(problem(.notReplyable)), .sending])
        #expect(try store.sendable(limit: 10).isEmpty)
        try store.retry(messageId(101), in: talk)
        #expect(try store.sendable(limit: 10).map(\.message) == [messageId(101), messageId(102)])
    }

    @Test("a conversation that is refused stays while there are messages for it, whose first one has failed by that")
    func refusedConversation() throws {
        let store = try copy()
        let new = ConversationID(UUIDBytes(high: 1, low: 9))
        try store.enqueue(.createGroup(members: [ben], title: "Climbing"), in: new, at: time(1), key: key(1))
        try store.enqueue(send("one"), in: new, message: messageId(101), at: time(2), key: key(2))
        try store.enqueue(.rename(title: "Hiking"), in: new, at: time(3), key: key(3))
        try store.enqueue(send("two"), in: new, message: messageId(102), at: time(4), key: key(4))
        try store.setDraft(Draft(text: "three"), in: new, at: time(5), key: key(5))
        let states = { try store.timeline(of: new, .newest, limit: 10).rows.map(\.state) }
        try store.refuse(store.outbox()[0], problem(.forbidden))
        #expect(try store.firstRefused() == nil && store.sendable(limit: 10).isEmpty)
        let row = try #require(try store.list(limit: 10).rows.first { $0.id == new })
        #expect(row.hasFailedMessage && row.isBeingCreated && row.preview?.message.text == "two")
        #expect(row.draft?.text == "three" && row.conversation.memberCount == 2)
        #expect(try states() == [.failed(problem(.forbidden)), .sending])

        try store.retry(messageId(101), in: new)
        #expect(try states() == [.sending, .sending])
        #expect(try store.sendable(limit: 10).map(\.write.kind) == ["create", "send", "rename", "send"])
        try store.refuse(store.outbox()[0], problem(.tooLarge))
        try store.enqueue(.edit(text: "better"), in: new, message: messageId(101), at: time(6), key: key(6))
        #expect(try store.sendable(limit: 10).first?.write.kind == "create", "an edited message is sent again")
        try store.refuse(store.outbox()[0], problem(.tooLarge))
        try store.discard(messageId(101), in: new)
        #expect(try states() == [.failed(problem(.tooLarge))])
        try store.enqueue(.deleteForMe, in: new, message: messageId(102), at: time(7), key: key(7))
        #expect(try store.list(limit: 10).rows.contains { $0.id == new } == false)
        #expect(try store.outbox(of: new).isEmpty)
    }

    @Test("a message whose id is in use gets another one when it is retried, and replies to it follow")
    func conflict() throws {
        let store = try copy()
        try store.enqueue(send("one"), messageId(101))
        try store.enqueue(send("two", replyTo: messageId(101)), messageId(102), key: 2)
        try store.refuse(store.outbox()[0], problem(.conflict))
        try store.retry(messageId(101), in: talk, newId: messageId(201))
        let rows = try store.outbox()
        #expect(rows.map(\.message) == [messageId(201), messageId(102)])
        #expect(rows[1].write == send("two", replyTo: messageId(201)))
    }

    @Test("the echo of a message takes the place of its row in one transaction")
    func echo() throws {
        let store = try copy(lastSeq: 3)
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest)])
        try store.enqueue(send("text 4"), messageId(4))
        try store.apply([.change(created(message(4, by: anna)), movesCursor: true)])
        #expect(try store.texts() == ["text 1", "text 2", "text 3", "text 4"])
        #expect(try store.rows().map(\.state) == [.stored, .stored, .stored, .stored])
        #expect(try store.outbox().isEmpty)
    }

    @Test("a message that the server has stored stays in sight until the stream brings it")
    func untoldMessage() throws {
        let store = try copy(lastSeq: 5)
        try store.apply([.history(talk, history(1...5, of: 5), place: .newest)])
        try store.enqueue(send("one"), messageId(7))
        // Position 6 is somebody else's, and not here yet.
        try store.complete(store.outbox()[0], with: .message(message(7, by: anna, text: "one")))
        #expect(try store.outbox().isEmpty)
        #expect(try store.rows().map(\.message.seq) == [1, 2, 3, 4, 5, 7])
        try store.apply([.message(message(9))])  // What a search found is not the end of the conversation.
        #expect(try store.rows().map(\.message.seq) == [1, 2, 3, 4, 5, 7])

        let cleared = try copy(lastSeq: 5)
        try cleared.enqueue(.clearHistory(through: 5))
        try cleared.complete(cleared.outbox()[0], with: .done)
        try cleared.enqueue(send("one"), messageId(6))
        try cleared.complete(cleared.outbox()[0], with: .message(message(6, by: anna, text: "one")))
        #expect(try cleared.texts() == ["one"])
    }

    @Test("what a response does not tell is done to the copy, so that nothing flickers")
    func untold() throws {
        let store = try copy(lastSeq: 3)
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest)])
        try store.enqueue(.deleteForEveryone, messageId(1))
        try store.enqueue(.deleteForMe, messageId(2))
        for row in try store.outbox() { try store.complete(row, with: .done) }
        #expect(try store.texts() == [nil, "text 3"])
        #expect(try store.rows()[0].message.deletedForEveryone)
    }

    @Test("a response that comes after the change changes nothing more: a tombstone keeps when it was edited")
    func lateResponse() throws {
        let store = try copy(lastSeq: 3)
        try store.apply([.history(talk, history(1...3, of: 3), place: .newest)])
        try store.enqueue(.deleteForEveryone, messageId(1))
        let deleted = Message(
            id: messageId(1), conversationId: talk, seq: 1, changeSeq: 5, senderId: ben, kind: .text, text: nil,
            sentAt: time(1), createdAt: time(1_001), editedAt: time(4), deletedAt: time(5))
        let change = Change(
            conversationId: talk, seq: 5, kind: .messageDeleted, at: time(5), actorId: anna, message: deleted)
        try store.apply([.change(change, movesCursor: false)])
        let digest = try store.digest(of: 1...3, in: talk)
        for row in try store.outbox() { try store.complete(row, with: .done) }
        #expect(try store.digest(of: 1...3, in: talk) == digest)
        #expect(try store.message(messageId(1), in: talk) == deleted)
    }

    @Test("the response to a repetition does not take away a tapback that another device set since")
    func repetition() throws {
        for isRepetition in [false, true] {
            let store = try copy(lastSeq: 3)
            var loved = message(3)
            loved.tapbacks = [Tapback(userId: anna, kind: .love)]
            loved.tapbackCounts = [.love: 1]
            try store.apply([.message(loved)])
            try store.enqueue(.removeTapback, messageId(3))
            if isRepetition { try store.markTried(store.outbox().map(\.key)) }
            for row in try store.outbox() { try store.complete(row, with: .done) }
            #expect(try store.message(messageId(3), in: talk)?.tapbacks == (isRepetition ? loved.tapbacks : []))
        }
    }

    @Test("the response to a removal from the list does not take away a conversation that the user came back to since")
    func removal() throws {
        let store = try copy(lastSeq: 3)
        try store.enqueue(.removeFromList)
        let row = try store.outbox()[0]
        try store.apply([
            .privateChange(.init(useq: 1, kind: .conversationRemoved, at: time(1), conversationId: talk)),
            .privateChange(.init(useq: 2, kind: .conversationJoined, at: time(2), conversationId: talk, lastSeq: 5)),
            .conversation(head(lastSeq: 5), follows: true),
        ])
        try store.complete(row, with: .done)
        #expect(try store.conversation(talk)?.lastSeq == 5)
    }

    @Test("what waits to be read or cleared does not outlive the history whose positions it names; all else does")
    func goneHistory() throws {
        let store = try copy(lastSeq: 3)
        try store.enqueue(.read(seq: 3), key: 1)
        try store.enqueue(.clearHistory(through: 2), key: 2)
        try store.enqueue(send("one"), messageId(101), key: 3)
        try store.enqueue(.rename(title: "Monday"), key: 4)
        try store.apply([.discardAll])
        #expect(try store.outbox().map(\.write) == [send("one"), .rename(title: "Monday")])
    }

    @Test("everything that waits survives a new process")
    func survival() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        do {
            let store = try LocalStore(path: path)
            try store.enqueue(send("one"), messageId(101))
            try store.enqueue(.settings(.init(presence: .off)), key: 2)
            try store.refuse(store.outbox()[0], problem(.tooLarge))
        }
        let rows = try LocalStore(path: path).outbox()
        #expect(rows.map(\.write) == [send("one"), .settings(.init(presence: .off))])
        #expect(rows.map(\.problem) == [problem(.tooLarge), nil])
        #expect(rows.map(\.idempotencyKey) == [key(1), key(2)])
    }
}
