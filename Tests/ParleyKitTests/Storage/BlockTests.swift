import Models
import Testing

@testable import ParleyStorage

/// Whom the user has blocked, in a copy, and what is not shown for that.
@Suite struct BlockTests {
    private let carla = UserID("carla")!

    private func told(_ useq: Int64, _ user: UserID, _ isBlocked: Bool) -> SyncWrite {
        var change = PrivateChange(useq: useq, kind: .blocked, at: time(1), conversationId: ConversationID(key(77)))
        (change.userId, change.blocked) = (user, isBlocked)
        return .privateChange(change)
    }

    /// A copy with ten messages, the odd ones of carla.
    private func group() throws -> LocalStore {
        let store = try copy()
        var page = history(1...10, of: 10)
        for index in page.messages.indices where index % 2 == 0 { page.messages[index].senderId = carla }
        try store.apply([.history(talk, page, place: .newest)])
        return store
    }

    private func block(_ user: UserID, _ isBlocked: Bool, in store: LocalStore, key number: UInt64 = 1) throws {
        try store.enqueue(.block(user, isBlocked, after: 0), in: nil, at: time(1), key: key(number))
    }

    private func seqs(_ store: LocalStore) throws -> [Int64] { try store.rows().map(\.message.seq) }

    // MARK: The list

    @Test("a block holds at once, stays when the server has it, and is undone when it is refused")
    func optimism() throws {
        let store = try copy()
        try block(ben, true, in: store)
        #expect(try store.blockedUsers() == [ben])
        try store.complete(try #require(try store.outbox().first), with: .done)
        #expect(try store.blockedUsers() == [ben])
        try store.apply([told(1, ben, true)])
        #expect(try store.blockedUsers() == [ben])
        try block(carla, true, in: store, key: 2)
        try store.refuse(try #require(try store.outbox().first), ProblemDetails(Problem(.conflict, "blockedUsers")))
        #expect(try store.blockedUsers() == [ben])
    }

    @Test("of one user the last word that no request was made with is sent, of several users each")
    func joining() throws {
        let store = try copy()
        try block(ben, true, in: store)
        try block(carla, true, in: store, key: 2)
        try block(ben, false, in: store, key: 3)
        let waiting = try store.outbox()
        #expect(waiting.map(\.write) == [.block(carla, true, after: 0), .block(ben, false, after: 0)])
        #expect(try store.blockedUsers() == [carla])
        try store.markTried(waiting.map(\.key))
        try block(ben, true, in: store, key: 4)
        #expect(try store.outbox().count == 3)
        #expect(try store.blockedUsers() == [ben, carla])
    }

    @Test("what another device did later stands, also if the response to an earlier block comes last")
    func later() throws {
        let store = try copy()
        try block(ben, true, in: store)
        let row = try #require(try store.outbox().first)
        try store.markTried([row.key])
        try store.apply([told(1, ben, true), told(2, ben, false)])
        #expect(try store.blockedUsers() == [ben], "the user's own is on its way")
        try store.complete(row, with: .done)
        #expect(try store.blockedUsers().isEmpty)
    }

    @Test("a list replaces what was known, and what the private stream told before it shows nothing for a moment")
    func welcome() throws {
        let store = try copy()
        try store.apply([told(1, carla, true), .blocks([ben], useq: 4)])
        #expect(try store.blockedUsers() == [ben])
        try store.apply([told(2, UserID("dora")!, true), told(3, ben, false)])
        #expect(try store.blockedUsers() == [ben])
        try store.apply([told(4, ben, true), told(5, carla, true)])
        #expect(try store.blockedUsers() == [ben, carla])
    }

    @Test("a response that was asked for before says nothing against the private stream; after a gap it does")
    func responses() throws {
        let store = try copy()
        try store.apply([.blocks([ben], useq: 0), .blocks([], useq: nil)])
        #expect(try store.blockedUsers() == [ben])
        try store.apply([.outdated(nil, 1...Int64.max)])
        #expect(try store.blockedUsers() == [ben], "nobody is shown while it is not known")
        try store.apply([told(1, carla, true), .blocks([], useq: nil)])
        #expect(try store.blockedUsers() == [carla])
    }

    @Test("a block that waits is not undone by a list, and the response to it brings back no earlier one")
    func listWhileWaiting() throws {
        let store = try copy()
        try block(ben, true, in: store)
        let row = try #require(try store.outbox().first)
        try store.markTried([row.key])
        try store.apply([.blocks([], useq: 3)])
        #expect(try store.blockedUsers() == [ben])
        try store.complete(row, with: .done)
        #expect(try store.blockedUsers().isEmpty, "another device may have ended it before the list was read")
    }

    // MARK: What is shown

    @Test("in a group nothing of a blocked user is shown or counted, and everything again without the block")
    func hiding() throws {
        let store = try group()
        #expect(try store.conversation(talk)?.unreadCount == 10)
        try block(ben, true, in: store)
        #expect(try seqs(store) == [1, 3, 5, 7, 9])
        #expect(try store.conversation(talk)?.lastMessage?.seq == 9)
        #expect(try store.conversation(talk)?.unreadCount == 5)
        #expect(try store.unreadCounts(at: time(0)) == [talk: UnreadCount(messages: 5, mentions: 0)])
        #expect(try store.list(limit: 1).rows.first?.preview?.message.seq == 9)
        #expect(try store.search("text").count == 5)
        #expect(try store.firstUnread(in: talk) == 1)
        #expect(try store.hidden([ben, carla], in: talk) == [ben])
        try block(ben, false, in: store, key: 2)
        #expect(try seqs(store) == Array(1...10))
        #expect(try store.conversation(talk)?.unreadCount == 10)
        #expect(try store.search("text").count == 10)
    }

    @Test("the conversation of two shows what it had, and says that the other is blocked")
    func direct() throws {
        let store = try copy()
        var pair = head(lastSeq: 10)
        pair.kind = .known(.direct)
        try store.apply([
            .conversation(pair, follows: true), .history(talk, history(1...10, of: 10), place: .newest),
        ])
        try block(ben, true, in: store)
        #expect(try seqs(store) == Array(1...10))
        let row = try #require(try store.listRow(talk))
        #expect(row.isBlocked && row.counterpart == ben)
    }

    @Test("where the copy lacks messages, those of the server's count that are known to be hidden are not counted")
    func toldUnread() throws {
        let store = try copy()
        var latest = head(lastSeq: 20, unread: 20)
        latest.lastMessage = message(20)
        try store.apply([.conversation(latest, follows: false)])
        #expect(try store.conversation(talk)?.unreadCount == 20)
        try block(ben, true, in: store)
        #expect(try store.conversation(talk)?.unreadCount == 19)
    }

    @Test("tapbacks of a blocked user are not shown, and a reply to them shows no preview")
    func tapbacksAndReplies() throws {
        let store = try copy()
        var (parent, reply) = (message(9), message(10, by: carla))
        parent.tapbacks = [Tapback(userId: carla, kind: .love)]
        parent.tapbackCounts = [.love: 1]
        reply.tapbacks = [Tapback(userId: ben, kind: .like), Tapback(userId: carla, kind: .like)]
        reply.tapbackCounts = [.like: 2]
        reply.kind = .known(.reply)
        reply.replyTo = Reference(messageId: parent.id, seq: 9)
        let page = History(messages: [parent, reply], hasMoreBefore: true, hasMoreAfter: false, lastSeq: 10)
        try store.apply([.history(talk, page, place: .newest)])
        #expect(try store.rows().last?.parent?.preview == "text 9")
        try block(ben, true, in: store)
        let row = try #require(try store.rows().last)
        #expect(row.parent == nil)
        #expect(row.message.tapbacks == [Tapback(userId: carla, kind: .like)])
        #expect(row.message.tapbackCounts == [.like: 1])
    }

    @Test("what happened to the group is shown, whoever did it; a reply that only names a blocked sender is not")
    func systemMessages() throws {
        let store = try copy()
        var renamed = message(9)
        renamed.kind = .known(.system)
        var reply = message(10, by: carla)
        reply.kind = .known(.reply)
        reply.replyTo = Reference(messageId: messageId(99), seq: 2, senderId: ben, preview: "old")
        let page = History(messages: [renamed, reply], hasMoreBefore: true, hasMoreAfter: false, lastSeq: 10)
        try store.apply([.history(talk, page, place: .newest)])
        #expect(try store.rows().last?.parent?.preview == "old")
        try block(ben, true, in: store)
        #expect(try seqs(store) == [9, 10])
        #expect(try store.rows().last?.parent == nil)
    }

    @Test("a hidden message brings nothing back from the archive")
    func archive() throws {
        let store = try group()
        try block(ben, true, in: store)
        try store.enqueue(.mark(.archived(through: 10), after: 0), key: 2)
        try store.apply([.change(created(message(11)), movesCursor: true)])
        #expect(try store.list(.archive, limit: 9).rows.map(\.id) == [talk])
        #expect(try store.conversation(talk)?.isArchived(at: time(0)) == true)
        try store.apply([.change(created(message(12, by: carla)), movesCursor: true)])
        #expect(try store.list(.archive, limit: 9).rows.isEmpty)
    }

    @Test("who has read a message has read what is hidden right behind it")
    func reading() throws {
        let store = try group()
        #expect(try store.readSeq(through: 9, in: talk) == 9)
        try block(ben, true, in: store)
        #expect(try store.readSeq(through: 9, in: talk) == 10)
        #expect(try store.readSeq(through: 3, in: talk) == 4)
        try store.apply([
            .change(created(message(11)), movesCursor: true), .change(created(message(12)), movesCursor: true),
        ])
        #expect(try store.readSeq(through: 9, in: talk) == 12)
        try store.apply([.outdated(talk, 11...11)])
        #expect(try store.readSeq(through: 9, in: talk) == 10, "not beyond what is known")
    }

    @Test("a page is filled with what is shown, however much is hidden before it")
    func paging() throws {
        let store = try group()
        try block(ben, true, in: store)
        let page = try store.timeline(of: talk, .newest, limit: 3)
        #expect(page.rows.map(\.message.seq) == [5, 7, 9])
        #expect(page.hasMoreBefore)
        let around = try store.timeline(of: talk, around: 6, before: 2, after: 2)
        #expect(around.rows.map(\.message.seq) == [3, 5, 7, 9])
    }
}
