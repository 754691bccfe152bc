import Models
import Testing

@testable import ParleyStorage

/// What the user is asked about, in a copy: apart from the conversations until they accept.
@Suite struct RequestTests {
    private let pair = ConversationID(UUIDBytes(high: 1, low: 2))
    private let carla = UserID("carla")!

    /// A copy with a conversation, and a request of ben's whose messages were read.
    private func asked() throws -> LocalStore {
        let store = try copy()
        try store.apply([.requests([request(lastSeq: 3)]), .history(pair, page(1...3), place: .newest)])
        return store
    }

    private func request(lastSeq: Int64, at: Int64 = 5) -> MessageRequest {
        MessageRequest(at: time(at), userId: ben, conversation: pairHead(lastSeq: lastSeq))
    }

    private func pairHead(lastSeq: Int64, request: Bool? = true) -> Conversation {
        var head = head(lastSeq: lastSeq, unread: Int(lastSeq) - 1)
        head.id = pair
        head.kind = .known(.direct)
        head.title = nil
        head.request = request
        head.lastMessage = written(lastSeq)
        return head
    }

    private func written(_ seq: Int64) -> Message {
        var message = message(seq, text: "asked \(seq)")
        message.conversationId = pair
        message.id = messageId(UInt64(100 + seq))
        return message
    }

    private func page(_ seqs: ClosedRange<Int64>) -> History {
        History(messages: seqs.map(written), hasMoreBefore: false, hasMoreAfter: false, lastSeq: seqs.upperBound)
    }

    private func write(_ write: PendingWrite, message: MessageID? = nil, key number: UInt64 = 1, in store: LocalStore)
        throws
    {
        try store.enqueue(write, in: pair, message: message, at: time(9), key: key(number))
    }

    private func told(_ useq: Int64, _ kind: PrivateKind, waiting: Bool? = nil, lastSeq: Int64? = nil) -> SyncWrite {
        var change = PrivateChange(useq: useq, kind: kind, at: time(1), conversationId: pair)
        (change.waiting, change.lastSeq) = (waiting, lastSeq)
        return .privateChange(change)
    }

    private func listed(_ store: LocalStore) throws -> [ConversationID] { try store.list(limit: 9).rows.map(\.id) }

    private func texts(_ store: LocalStore) throws -> [String?] {
        try store.timeline(of: pair, .newest, limit: 9).rows.map(\.message.text)
    }

    @Test("a request is apart from the conversations: in no list, count or search, and it can be read")
    func apart() throws {
        let store = try asked()
        let request = try #require(try store.requests().first)
        #expect(request.userId == ben && request.at == time(5) && request.row.counterpart == ben)
        #expect(request.row.preview?.message.text == "asked 3" && request.row.conversation.request == true)
        #expect(try listed(store) == [talk] && store.conversations(limit: 9).map(\.id) == [talk])
        #expect(try store.unreadCounts(at: time(0)).isEmpty && store.unreadCount(of: pair, at: time(0)) == nil)
        #expect(try store.search("asked").isEmpty)
        #expect(try store.directConversation(with: ben) == nil, "opening it is for the server, as it accepts")
        #expect(try texts(store) == ["asked 1", "asked 2", "asked 3"])
        #expect(try store.syncPosition().streams.map(\.id) == [talk] && store.syncPosition().unknown.isEmpty)
        try write(.read(seq: 3), in: store)
        #expect(try store.outboxCount() == 0 && store.readSeq(in: pair) == 0, "who asks does not learn what is read")
    }

    @Test("what waits in it is read again, and only what has changed makes its messages loaded again")
    func readAgain() throws {
        let store = try asked()
        try store.apply([.conversation(pairHead(lastSeq: 3), follows: false)])
        #expect(try store.storedRanges(of: pair) == [1...3])
        try store.apply([
            .conversation(pairHead(lastSeq: 4), follows: false), .history(pair, page(1...3), place: .newest),
        ])
        #expect(try store.storedRanges(of: pair).isEmpty, "the page is from before")
        try store.apply([.history(pair, page(1...4), place: .newest)])
        #expect(try texts(store).count == 4 && store.storedRanges(of: pair) == [1...4])
        #expect(try store.requests().map(\.at) == [time(5)])
    }

    @Test("accepting shows at once, and follows from where the server says; being refused shows the request again")
    func accepting() throws {
        let store = try asked()
        try write(.accept, in: store)
        #expect(try Set(listed(store)) == [pair, talk])
        #expect(try store.requests().isEmpty && store.listRow(pair)?.conversation.isMember == true)
        let row = try #require(try store.outbox().first)
        try store.refuse(row, problem(.conflict))
        #expect(try listed(store) == [talk] && store.requests().map(\.id) == [pair])
        try write(.accept, key: 2, in: store)
        try write(.read(seq: 3), key: 3, in: store)
        #expect(try store.sendable(limit: 9).map(\.write) == [.accept], "what was read would be refused before it")
        let accept = try #require(try store.outbox().first { $0.state == .waiting })
        #expect(try store.complete(accept, with: .done))
        #expect(try store.sendable(limit: 9).map(\.write) == [.read(seq: 3)])
        #expect(try listed(store).contains(pair) && store.syncPosition().unknown == [pair])
        try store.apply([told(1, .conversationJoined, lastSeq: 6), .requests([])])
        try store.apply([.conversation(pairHead(lastSeq: 6, request: nil), follows: true)])
        #expect(try store.syncPosition().streams.first { $0.id == pair }?.stream.cursor == 6)
        #expect(try store.storedRanges(of: pair).isEmpty, "what happened since it was read is in no change")
        #expect(try store.unreadCounts(at: time(0))[pair]?.messages == 3)
    }

    @Test("who writes or reacts accepts; one who is refused is asked as before, with the message that failed")
    func answering() throws {
        let store = try asked()
        try write(.setTapback(.love), message: messageId(101), in: store)
        #expect(try listed(store).contains(pair))
        try store.refuse(try #require(try store.outbox().first), problem(.forbidden))
        #expect(try listed(store) == [talk])
        try write(send("Hi"), message: messageId(200), key: 2, in: store)
        #expect(try listed(store).contains(pair) && store.requests().isEmpty)
        let row = try #require(try store.outbox().last)
        try store.refuse(row, problem(.forbidden))
        let request = try #require(try store.requests().first)
        #expect(request.row.hasFailedMessage)
        try store.retry(messageId(200), in: pair)
        var sent = written(4)
        sent.senderId = anna
        #expect(try store.complete(row, with: .message(sent)))
        #expect(try listed(store).contains(pair) && store.requests().isEmpty)
    }

    @Test("what is declined is nowhere at once, with what was written there, and comes back when the server refuses")
    func declining() throws {
        let store = try asked()
        try store.setDraft(Draft(text: "who"), in: pair, at: time(9), key: key(7))
        #expect(try store.sendable(limit: 9).isEmpty && store.draft(in: pair)?.text == "who", "it stays on the device")
        try write(.decline, in: store)
        #expect(try store.requests().isEmpty && listed(store) == [talk] && store.listRow(pair) == nil)
        let row = try #require(try store.outbox().last)
        try store.refuse(row, problem(.conflict))
        #expect(try store.requests().map(\.id) == [pair])
        try write(.decline, key: 2, in: store)
        try store.markTried([try #require(try store.outbox().last).key])
        #expect(try !store.complete(try #require(try store.outbox().last), with: .done))
        #expect(try store.conversation(pair) == nil && store.draft(in: pair) == nil)
    }

    @Test("of two decisions without a connection the last one is sent, one that was tried is followed by the other")
    func deciding() throws {
        let store = try asked()
        try write(.decline, in: store)
        try write(.accept, key: 2, in: store)
        #expect(try store.outbox().map(\.write) == [.accept])
        try store.markTried(try store.outbox().map(\.key))
        try write(.decline, key: 3, in: store)
        #expect(try store.outbox().map(\.write) == [.accept, .decline])
        #expect(try store.listRow(pair) == nil)
    }

    @Test("what another device decides, who took them out, and what the list has not any more is gone")
    func elsewhere() throws {
        let store = try asked()
        #expect(try store.hasRequests())
        try store.apply([told(1, .request, waiting: false)])
        #expect(try store.requests().isEmpty && store.conversation(pair) == nil && !store.hasRequests())
        try store.apply([.requests([request(lastSeq: 3)]), told(2, .conversationLeft)])
        #expect(try store.requests().isEmpty && !store.hasRequests())
        try store.apply([.requests([request(lastSeq: 3)]), .requests([])])
        #expect(try store.requests().isEmpty && store.hasRequests() && listed(store) == [talk])
        try store.apply([told(3, .request, waiting: true)])
        #expect(try !store.hasRequests(), "the list has it")
        // Taken back, while it was accepted here.
        try store.apply([.requests([request(lastSeq: 3)])])
        try write(.accept, in: store)
        try store.apply([told(4, .conversationLeft)])
        #expect(try store.listRow(pair) == nil && !store.hasRequests())
    }

    @Test("a list that was read before an answer arrived does not take the conversation away")
    func listWhileAnswering() throws {
        let store = try asked()
        try write(.accept, in: store)
        try store.apply([.requests([])])
        #expect(try listed(store).contains(pair))
    }

    @Test("the conversation with a blocked user is asked about no more, a group they brought the user into is")
    func blocked() throws {
        let store = try asked()
        var group = MessageRequest(at: time(4), userId: ben, conversation: pairHead(lastSeq: 2))
        group.conversation.id = ConversationID(UUIDBytes(high: 1, low: 3))
        group.conversation.kind = .known(.group)
        group.conversation.lastMessage = nil
        try store.apply([.requests([request(lastSeq: 3), group])])
        try store.enqueue(.block(ben, true, after: 0), in: nil, at: time(9), key: key(1))
        #expect(try store.requests().map(\.id) == [group.conversation.id] && store.requestCount() == 1)
    }

    @Test("after a gap of the private stream the list is read again; a restored server takes requests along")
    func gaps() throws {
        let store = try asked()
        try store.apply([.outdated(nil, 1...Int64.max)])
        #expect(try !store.hasRequests() && store.requests().count == 1)
        try store.apply([.requests([request(lastSeq: 3)]), .discardAll])
        #expect(try store.requests().isEmpty && !store.hasRequests())
    }
}
