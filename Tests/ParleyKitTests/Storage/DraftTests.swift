import Models
import Testing

@testable import ParleyStorage

/// What is being written, in a copy, and what the server tells of it.
@Suite struct DraftTests {
    /// A copy in which anna writes, and which a server tells what she writes elsewhere.
    private struct Desk {
        let store: LocalStore
        private var useq: Int64 = 0

        init() throws { store = try copy() }

        func write(_ text: String?, replyTo parent: MessageID? = nil, at: Int64 = 100) throws {
            try store.setDraft(text.map { Draft(text: $0, replyTo: parent) }, in: talk, at: time(at), key: key(1))
        }

        mutating func tell(
            _ text: String?, _ kind: PrivateKind = .draft, at: Int64 = 0, in id: ConversationID = talk
        ) throws {
            useq += 1
            var change = PrivateChange(useq: useq, kind: kind, at: time(at), conversationId: id)
            change.draft = text.map { KeptDraft(text: $0, at: time(at)) }
            try store.apply([.privateChange(change)])
        }

        var shown: String? { get throws { try store.draft(in: talk)?.text } }

        var waiting: [OutboxRow] { get throws { try store.sendable(limit: 9) } }

        var states: [OutboxRow.State] { get throws { try store.outbox().map(\.state) } }

        /// A request is made with what waits first.
        func put() throws -> OutboxRow {
            let row = try #require(try waiting.first)
            try store.markTried([row.key])
            return row
        }
    }

    private let other = ConversationID(UUIDBytes(high: 1, low: 2))

    @Test("what is written is put once, and shown without a break until the server has told of it")
    func puts() throws {
        var desk = try Desk()
        try desk.write("one")
        try desk.write("one two")
        #expect(try desk.waiting.map(\.write) == [.draft(Draft(text: "one two"), isTold: false)])
        try desk.store.complete(try desk.put(), with: .done)
        #expect(try desk.shown == "one two" && desk.waiting.isEmpty)
        try desk.tell("one two", at: 101)
        #expect(try desk.shown == "one two" && desk.states.isEmpty)
        try desk.write("one two")
        #expect(try desk.states.isEmpty)
        #expect(try desk.store.list(limit: 9).rows.map(\.draft?.text) == ["one two"])
    }

    @Test("an echo that comes before the response, and one of before, change nothing")
    func echoes() throws {
        var desk = try Desk()
        try desk.write("one")
        let first = try desk.put()
        try desk.write("two")
        try desk.tell("one", at: 101)
        #expect(try desk.shown == "two")
        try desk.store.complete(first, with: .done)
        try desk.store.complete(try desk.put(), with: .done)
        #expect(try desk.shown == "two" && desk.states == [.held])
        try desk.tell("two", at: 102)
        #expect(try desk.shown == "two" && desk.states.isEmpty)
    }

    @Test("what came before it on the server does not jump into what was put, what came after it does")
    func order() throws {
        var desk = try Desk()
        try desk.write("here")
        let row = try desk.put()
        try desk.tell("elsewhere", at: 101)
        try desk.store.complete(row, with: .done)
        #expect(try desk.shown == "here")
        try desk.tell("here", at: 102)
        try desk.tell("and elsewhere", at: 103)
        #expect(try desk.shown == "and elsewhere" && desk.states.isEmpty)
    }

    @Test("what was told while nobody listened comes without its draft, and ends the waiting for it")
    func replay() throws {
        var desk = try Desk()
        try desk.write("here")
        try desk.store.complete(try desk.put(), with: .done)
        // Put here, and taken away by another device.
        try desk.tell(nil, at: 101)
        try desk.tell(nil, at: 102)
        #expect(try desk.shown == nil && desk.states.isEmpty)
        try desk.write("again", at: 200)
        let row = try desk.put()
        try desk.tell(nil, at: 201)
        try desk.tell("elsewhere", at: 202)
        try desk.store.complete(row, with: .done)
        #expect(try desk.shown == "elsewhere" && desk.states.isEmpty)
    }

    @Test("of two that do not know of each other the newer one stays with the server, and none is lost")
    func conflict() throws {
        var desk = try Desk()
        try desk.write("written at 100", at: 100)
        try desk.tell("written at 200", at: 200)
        #expect(try desk.shown == "written at 100" && desk.states == [.held] && desk.waiting.isEmpty)
        // Who goes on with it decides.
        try desk.write("written at 100, and on", at: 300)
        #expect(try desk.waiting.count == 1)
        desk = try Desk()
        try desk.write("written at 100", at: 100)
        try desk.tell("written at 50", at: 50)
        #expect(try desk.shown == "written at 100" && desk.waiting.count == 1)
    }

    @Test("what was sent or given up is taken away on the server only if it was there")
    func removal() throws {
        var desk = try Desk()
        try desk.write("never put")
        try desk.write(nil)
        #expect(try desk.shown == nil && desk.states.isEmpty)
        try desk.tell("from elsewhere", at: 10)
        #expect(try desk.shown == "from elsewhere")
        try desk.write(nil)
        let row = try desk.put()
        #expect(try row.write == .draft(nil, isTold: false) && desk.shown == nil)
        try desk.store.complete(row, with: .done)
        try desk.tell(nil, at: 101)
        #expect(try desk.shown == nil && desk.states.isEmpty)
    }

    @Test("what was put and given up before the server told of it does not come back")
    func removedBeforeEcho() throws {
        var desk = try Desk()
        try desk.write("given up")
        try desk.store.complete(try desk.put(), with: .done)
        try desk.write(nil)
        try desk.store.complete(try desk.put(), with: .done)
        #expect(try desk.shown == nil)
        try desk.tell("given up", at: 101)
        #expect(try desk.shown == nil)
        try desk.tell(nil, at: 102)
        #expect(try desk.shown == nil && desk.states.isEmpty)
    }

    @Test("one that was sent elsewhere vanishes, unless it was changed here")
    func sentElsewhere() throws {
        var desk = try Desk()
        try desk.tell("one", at: 10)
        try desk.tell(nil, at: 20)
        #expect(try desk.shown == nil)
        try desk.tell("two", at: 30)
        try desk.write("two, and on")
        try desk.tell(nil, at: 200)
        #expect(try desk.shown == "two, and on" && desk.waiting.count == 1)
    }

    @Test("one that is refused stays here and is not repeated, and goes when there is room for it")
    func refusals() throws {
        var desk = try Desk()
        try desk.tell("before", at: 10, in: other)
        try desk.write("too many")
        try desk.store.refuse(try desk.put(), problem(.conflict))
        #expect(try desk.shown == "too many" && desk.waiting.isEmpty && desk.store.firstRefused() == nil)
        try desk.tell(nil, at: 20, in: other)
        try desk.store.refuse(try desk.put(), problem(.tooLarge))
        try desk.tell("another", at: 30, in: other)
        try desk.tell(nil, at: 40, in: other)
        #expect(try desk.shown == "too many" && desk.waiting.isEmpty)
    }

    @Test("a draft waits for its conversation to be created")
    func beingCreated() throws {
        let desk = try Desk()
        try desk.store.enqueue(.createGroup(members: [ben], title: nil), in: other, at: time(1), key: key(2))
        try desk.store.setDraft(Draft(text: "first words"), in: other, at: time(2), key: key(3))
        #expect(try desk.waiting.map(\.write.kind) == ["create"])
        #expect(try desk.store.listRow(other)?.draft?.text == "first words")
        try desk.store.complete(try desk.put(), with: .conversation(head(lastSeq: 1)))
        #expect(try desk.waiting.map(\.write.kind) == ["draft"])
    }

    @Test("a reply without a text is kept on this device alone")
    func replyWithoutText() throws {
        var desk = try Desk()
        try desk.tell("text", at: 10)
        try desk.write("", replyTo: messageId(1))
        try desk.store.complete(try desk.put(), with: .done)
        try desk.tell(nil, at: 101)
        #expect(try desk.store.draft(in: talk) == Draft(text: "", replyTo: messageId(1)))
        #expect(try desk.waiting.isEmpty)
    }

    @Test("drafts of a conversation that was left go, and those of a copy that was taken away stay")
    func leaving() throws {
        var desk = try Desk()
        try desk.tell("told", at: 10)
        try desk.write("written")
        try desk.store.apply([.discardAll])
        #expect(try desk.shown == "written" && desk.waiting.count == 1)
        // A restored server may not have it any more, and nothing tells of it.
        try desk.store.complete(try desk.put(), with: .done)
        try desk.store.apply([.discardAll])
        #expect(try desk.shown == "written" && desk.waiting.count == 1)
        try desk.tell("told later", at: 200)
        #expect(try desk.shown == "written" && desk.states == [.held] && desk.waiting.isEmpty)
        desk = try Desk()
        try desk.tell("told", at: 10)
        try desk.write("written")
        try desk.tell(nil, .conversationLeft, at: 20)
        #expect(try desk.shown == nil && desk.states.isEmpty)
        // The private stream may have been missed: then the conversation tells that the user has left.
        desk = try Desk()
        try desk.write("written")
        try desk.store.apply([.conversation(head(lastSeq: 11, windows: [Window(from: 1, to: 11)]), follows: false)])
        #expect(try desk.shown == nil && desk.states.isEmpty)
    }

    @Test("after a gap of the private stream the conversation tells, before it says nothing against the stream")
    func responses() throws {
        var desk = try Desk()
        var response = head(lastSeq: 11)
        response.draft = KeptDraft(text: "old", at: time(1))
        try desk.tell("new", at: 10)
        try desk.store.apply([.conversation(response, follows: false)])
        #expect(try desk.shown == "new")
        try desk.store.apply([.outdated(nil, 1...Int64.max), .conversation(response, follows: false)])
        #expect(try desk.shown == "old")
    }
}
