import Models
import Testing

@testable import ParleyStorage

/// What users keep to themselves about conversations, in a copy.
@Suite struct MarkTests {
    private func told(_ useq: Int64, _ kind: PrivateKind, _ fill: (inout PrivateChange) -> Void = { _ in }) -> SyncWrite
    {
        var change = PrivateChange(useq: useq, kind: kind, at: time(1), conversationId: talk)
        fill(&change)
        return .privateChange(change)
    }

    private func pinOrder(_ store: LocalStore) throws -> Int64? { try store.conversation(talk)?.pinOrder }

    private func isArchived(_ store: LocalStore, at now: Int64 = 0) throws -> Bool {
        let listed = try store.list(.archive, at: time(now), limit: 9).rows.map(\.id)
        #expect(try store.list(.inbox, at: time(now), limit: 9).rows.map(\.id) == (listed.isEmpty ? [talk] : []))
        #expect(try store.conversation(talk)?.isArchived(at: time(now)) == !listed.isEmpty)
        return !listed.isEmpty
    }

    @Test("a mark shows at once, stays until the server tells of it, and is undone when it is refused")
    func optimism() throws {
        let store = try copy()
        try store.enqueue(.mark(.pinned(order: 3), after: 0))
        #expect(try pinOrder(store) == 3)
        let row = try #require(try store.outbox().first)
        try store.complete(row, with: .done)
        #expect(try pinOrder(store) == 3)
        try store.apply([told(1, .pinned) { $0.pinOrder = 3 }])
        #expect(try pinOrder(store) == 3)
        try store.enqueue(.mark(.pinned(order: nil), after: 0), key: 2)
        #expect(try pinOrder(store) == nil)
        try store.refuse(try #require(try store.outbox().first), ProblemDetails(Problem(.conflict, "order")))
        #expect(try pinOrder(store) == 3)
    }

    @Test("what another device did later stands, also if the response to an earlier mark comes last")
    func later() throws {
        let store = try copy()
        try store.enqueue(.mark(.pinned(order: 3), after: 0))
        let row = try #require(try store.outbox().first)
        try store.markTried([row.key])
        try store.apply([told(1, .pinned) { $0.pinOrder = 3 }, told(2, .pinned) { $0.pinOrder = 7 }])
        #expect(try pinOrder(store) == 3, "the user's own is on its way")
        try store.complete(row, with: .done)
        #expect(try pinOrder(store) == 7)
    }

    @Test("a response that was asked for before says nothing against the private stream; after a gap it does")
    func responses() throws {
        let store = try copy()
        try store.apply([told(1, .pinned) { $0.pinOrder = 3 }])
        var old = head(lastSeq: 11)
        old.mutedUntil = .forever
        try store.apply([.conversation(old, follows: true)])
        #expect(try pinOrder(store) == 3)
        #expect(try store.conversation(talk)?.mutedUntil == nil, "it was known that it is not muted")
        try store.apply([.outdated(nil, 1...Int64.max), .conversation(old, follows: true)])
        #expect(try pinOrder(store) == nil)
        #expect(try store.conversation(talk)?.mutedUntil == .forever)
    }

    @Test("a message brings a conversation back from the archive; while it is muted, none does")
    func archive() throws {
        let store = try copy()
        try store.enqueue(.mark(.archived(through: 10), after: 0))
        #expect(try isArchived(store))
        try store.apply([.change(created(message(11)), movesCursor: true)])
        #expect(try !isArchived(store))
        try store.apply([
            told(1, .muted) {
                $0.mutedUntil = time(5)
                $0.archivedSeq = 10
            }, told(2, .archived) { $0.archivedSeq = 10 },
        ])
        try store.complete(try #require(try store.outbox().first), with: .done)
        #expect(try isArchived(store, at: 4))
        #expect(try !isArchived(store, at: 5))
    }

    @Test("a mark as unread ends when the user reads on, here or elsewhere, and not before")
    func unread() throws {
        let store = try copy()
        try store.apply([
            told(1, .markedUnread) {
                $0.markedUnread = true
                $0.readSeq = 4
            }
        ])
        #expect(try store.conversation(talk)?.markedUnread == true)
        #expect(try store.conversation(talk)?.readSeq == 4)
        try store.apply([told(2, .readMoved) { $0.readSeq = 4 }])
        #expect(try store.conversation(talk)?.markedUnread == true)
        #expect(try store.unreadCounts(at: time(0))[talk] != nil)
        try store.apply([told(3, .readMoved) { $0.readSeq = 10 }])
        #expect(try store.conversation(talk)?.markedUnread == nil)
        #expect(try store.unreadCounts(at: time(0)).isEmpty)
        try store.enqueue(.mark(.unread(true), after: 0))
        try store.apply([.change(created(message(11)), movesCursor: true)])
        try store.enqueue(.read(seq: 11), key: 2)
        #expect(try store.outbox().map(\.write) == [.read(seq: 11)])
        #expect(try store.conversation(talk)?.markedUnread == nil)
    }

    @Test("the badge leaves out what is muted or archived")
    func badge() throws {
        let store = try copy()
        try store.apply([.history(talk, history(1...10, of: 10), place: .newest)])
        #expect(try store.unreadCounts(at: time(0)) == [talk: UnreadCount(messages: 10, mentions: 0)])
        try store.enqueue(.mark(.muted(until: time(5)), after: 0))
        #expect(try store.unreadCounts(at: time(0)).isEmpty)
        #expect(try store.unreadCount(of: talk, at: time(6))?.messages == 10)
        try store.enqueue(.mark(.muted(until: nil), after: 0), key: 2)
        try store.enqueue(.mark(.archived(through: 10), after: 0), key: 3)
        #expect(try store.unreadCount(of: talk, at: time(0)) == nil)
    }

    @Test("the pinned stand first, by their order")
    func order() throws {
        let store = try copy()
        let others = (2...4).map { ConversationID(UUIDBytes(high: 1, low: $0)) }
        for (number, id) in others.enumerated() {
            var other = head(lastSeq: 1)
            other.id = id
            other.lastActivityAt = time(5_000 + Int64(number))
            try store.apply([.conversation(other, follows: true)])
        }
        #expect(try store.list(limit: 9).rows.map(\.id) == [others[2], others[1], others[0], talk])
        try store.enqueue(.mark(.pinned(order: try store.topPinOrder()), after: 0))
        #expect(try store.list(limit: 9).rows.map(\.id) == [talk, others[2], others[1], others[0]])
        try store.enqueue(
            .mark(.pinned(order: try store.topPinOrder()), after: 0), in: others[0], at: time(1), key: key(2))
        #expect(try store.list(limit: 2).rows.map(\.id) == [others[0], talk])
    }
}
