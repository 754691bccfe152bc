import Bus
import Models
import Reactor
import Wire

/// A conversation with sessions on this process.
@Reactor
final class Room: FeedHost {
    let conversation: ConversationID
    var feed: Feed<ChangeFrame>
    unowned let rooms: Rooms
    /// For `Room+Receipts`: the version of the receipts …
    var status: StatusStream
    /// … sessions whose receipts are behind, each of which gets one merged frame before any other …
    var behind = IdentityTable<Session>()
    /// … and the counts that replace names in a large room.
    var counts = CountsRefresh()
    /// Who is online, for `Presence`.
    var presence = RoomPresence()
    /// 0: not known yet.
    private(set) var memberCount = 0
    /// The position at which `memberCount` holds; later changes adjust it.
    private var countedThrough: Int64 = -1

    init(_ conversation: ConversationID, lastSeq: Int64, statusVersion: Int64, in rooms: Rooms) {
        self.conversation = conversation
        self.rooms = rooms
        feed = Feed(last: lastSeq)
        status = StatusStream(version: statusVersion)
    }

    var key: StreamKey { .conversation(conversation) }
    var fetches: FetchQueue { rooms.fetches }
    var counters: Counters { rooms.counters }
    var turns: Turns { rooms.turns }

    func afterBacklog(_ body: @escaping @Reactor () -> Void) { rooms.afterBacklog(body) }

    // MARK: Members

    /// Takes a number of members that was read at a position. The position may be older or newer than the changes that
    /// have passed here.
    func learn(memberCount: Int, at position: Int64) {
        guard position >= max(countedThrough, feed.last) || countedThrough < 0 else { return }
        countedThrough = position
        resize(to: memberCount)
    }

    func passed(_ entry: ChangeFrame) {
        if let user = entry.removed ?? entry.added { rooms.membership(self, user, entry.removed == nil) }
        guard entry.position > countedThrough else { return }
        countedThrough = entry.position
        resize(to: memberCount + entry.joined)
    }

    private func resize(to count: Int) {
        let showed = showsPresence
        memberCount = max(0, count)
        if showsPresence != showed { rooms.resized(self) }
    }

    // MARK: Changes

    func join(_ session: Session, after seq: Int64, _ stays: Stays) {
        let isNew = !session.isIn(self)
        if isNew { session.rooms.append(self) }
        add(session, after: seq, stays, isNew: isNew)
    }

    func leave(_ session: Session) {
        feed.remove(session)
        behind.remove(session)
        rooms.removeIfEmpty(self)
    }

    func deliver(_ entry: ChangeFrame, to session: Session) {
        counters.deliveries += 1
        if let withheld = entry.withheld, !session.windows.cover(withheld.seq, in: conversation) {
            session.send(withheld.frame)
        } else {
            session.send(entry.frame)
        }
        if entry.isLast(for: session) { end(session, at: entry.position) }
    }

    private func end(_ session: Session, at seq: Int64) {
        let wasMember = hasMember(session)
        session.windows.close(conversation, at: seq)
        if wasMember, !hasMember(session) { rooms.left(session, self) }
    }

    /// The session's user has closed the conversation at a position that no change tells of.
    func close(_ session: Session, at seq: Int64) {
        let wasMember = hasMember(session)
        session.windows.cut(conversation, through: seq)
        behind.remove(session)
        if wasMember, !hasMember(session) { rooms.left(session, self) }
        cut(session, through: seq)
    }

    func ended(_ session: Session) {
        session.rooms.remove(self)
        leave(session)
    }

    func fetch(after: Int64, through: Int64, asOf: Int64, then: @escaping @Reactor (Page<ChangeFrame>?) -> Void) {
        let query = ReplayQuery(conversation, after: after, through: through, limit: Rooms.pageSize, asOf: asOf)
        let slot = conversation.slot
        rooms.bus.request(.replay, in: slot, deadline: Rooms.deadline, fields: { query.write(to: &$0) }) { outcome in
            var page = outcome.page { (reader) throws(WireError) in ChangeFrame(try ChangeEntry(from: &reader)) }
            // Positions are dense: what is missing at the beginning was removed, with messages that are kept no longer.
            let next = page?.entries.first?.position ?? through + 1
            if let last = page?.last, last >= through, next > after + 1 { page?.lostThrough = next - 1 }
            then(page)
        }
    }

    /// What it misses is in the pages, as far as it is there.
    func lost(_ session: Session) {
        let stays = session.windows.stays(in: conversation)
        let end = min(feed.last, stays.end ?? .max)
        counters.reloads += 1
        session.send(ServerFrame.reload(conversation, lastSeq: end))
        guard stays.next(after: end) != nil else { return ended(session) }
        add(session, after: end, stays)
    }
}
