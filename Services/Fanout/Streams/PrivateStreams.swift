import Bus
import Bytes
import Edge
import JSON
import Models
import Reactor
import Wire

/// A private change, encoded once for all sessions of its user.
struct PrivateFrame: StreamEntry {
    let position: Int64
    let frame: WebSocketFrame
    /// The conversation that the user joined with this change.
    let joined: Joining?
    /// The presence setting from this change on; nil when the change is about something else.
    let showsPresence: Bool?
    /// Whom the user blocks from this change on, or no longer.
    let block: Block?

    init(_ entry: PrivateEntry) {
        position = entry.useq
        frame = ServerFrame.privateChange(entry.json)
        joined = entry.kind == .conversationJoined ? Joining(entry) : nil
        let isOwnSetting = entry.kind == .settingsChanged && entry.conversation.uuid == .zero
        showsPresence = isOwnSetting ? entry.detail == 1 : nil
        block = entry.kind == .blocked ? Block(entry) : nil
    }

    var byteCount: Int { frame.count }

    func isLast(for _: Session) -> Bool { false }
}

/// A user who is blocked from a private change on, or no longer.
struct Block {
    /// Nil: they were erased.
    let user: UserID?
    let isBlocked: Bool
    /// The direct conversation with them.
    let conversation: ConversationID
    /// Where the stay in it ended, or behind which one begins; 0: there is none.
    let seq: Int64

    private static let keys: JSONKeys = ["userId"]

    init(_ entry: PrivateEntry) {
        isBlocked = entry.detail == 1
        conversation = entry.conversation
        seq = entry.seq
        user = try? Self.user(entry.json)
    }

    private static func user(_ json: UnsafeRawBufferPointer) throws(JSONError) -> UserID? {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var user: UserID?
        try reader.beginObject()
        while let key = try reader.nextKey(of: keys, &given) {
            if key == "userId" { user = UserID(try reader.string()) } else { try reader.skip() }
        }
        return user
    }
}

/// A joined conversation, as described by a private change.
struct Joining {
    let conversation: ConversationID
    /// The last position before the stay.
    let start: Int64
    /// The session is sent what comes after it: where no change begins the stay, what came before is history.
    let lastSeq: Int64
    let memberCount: Int
    /// The position at which `memberCount` was counted: that of the joining or, when the change was sent later, the
    /// conversation's last position then.
    let countedAt: Int64
    /// Whether a change begins the stay. To the others the user was a member already.
    let isChange: Bool

    private static let keys: JSONKeys = ["lastSeq"]

    init(_ entry: PrivateEntry) {
        conversation = entry.conversation
        start = entry.seq
        memberCount = entry.detail & ~PrivateEntry.joinsSilently
        isChange = entry.detail & PrivateEntry.joinsSilently == 0
        countedAt = max(entry.seq + (isChange ? 1 : 0), (try? Self.announcedLastSeq(entry.json)) ?? 0)
        lastSeq = isChange ? start : countedAt
    }

    /// A direct conversation that is open again.
    init(_ block: Block) {
        conversation = block.conversation
        start = block.seq
        lastSeq = block.seq
        memberCount = 2
        isChange = false
        countedAt = block.seq
    }

    private static func announcedLastSeq(_ json: UnsafeRawBufferPointer) throws(JSONError) -> Int64? {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var lastSeq: Int64?
        try reader.beginObject()
        while let key = try reader.nextKey(of: keys, &given) {
            if key == "lastSeq" { lastSeq = try reader.position() } else { try reader.skip() }
        }
        return lastSeq
    }
}

/// The private stream of a user with sessions on this process.
@Reactor
final class PrivateStream: FeedHost {
    let user: UserID
    var feed: Feed<PrivateFrame>
    private unowned let streams: PrivateStreams

    init(_ user: UserID, useq: Int64, in streams: PrivateStreams) {
        self.user = user
        self.streams = streams
        feed = Feed(last: useq)
    }

    var key: StreamKey { .user(user) }
    var fetches: FetchQueue { streams.fetches }
    var counters: Counters { streams.counters }
    var turns: Turns { streams.rooms.turns }

    func deliver(_ entry: PrivateFrame, to session: Session) {
        counters.deliveries += 1
        session.send(entry.frame)
        // The bootstrap includes the effect of older ones.
        guard entry.position > session.bootstrapUseq else { return }
        if let joined = entry.joined {
            streams.join(session, joined)
        }
        if let shows = entry.showsPresence { streams.presenceDecided(session, shows) }
        if let block = entry.block { streams.decided(block, session) }
    }

    func ended(_: Session) {}

    /// Ends the session, because it may have missed a joined conversation. The next session starts from a new
    /// bootstrap.
    func lost(_ session: Session) {
        session.end(.draining, reason: "missed changes are no longer kept: reconnect", retryAfter: 1)
    }

    func fetch(after: Int64, through _: Int64, asOf _: Int64, then: @escaping @Reactor (Page<PrivateFrame>?) -> Void) {
        let query = PrivateReplayQuery(user, after: after, limit: Rooms.pageSize)
        let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
        streams.bus.request(.privateReplay, in: user.slot, deadline: Rooms.deadline, fields: fields) { outcome in
            var page = outcome.page { (reader) throws(WireError) in PrivateFrame(try PrivateEntry(from: &reader)) }
            if let first = page?.entries.first?.position, first > after + 1 { page?.lostThrough = first - 1 }
            then(page)
        }
    }
}

/// The private streams of the users who have sessions on this process.
@Reactor
final class PrivateStreams {
    let bus: Bus
    let fetches: FetchQueue
    let counters: Counters
    let rooms: Rooms
    private var bySlot = [[UserID: PrivateStream]](repeating: [:], count: Slot.count)
    var recorder = PositionRecorder<UserID>()
    var doubt: @Reactor (Slot) -> Void = { _ in }
    /// Called when a session has joined a room that its bootstrap did not name.
    var roomJoined: @Reactor (Session) -> Void = { _ in }
    /// For `Presence`: a session has joined a room, and a user has changed their setting.
    var joined: @Reactor (Session, Room) -> Void = { _, _ in }
    var presenceDecided: @Reactor (Session, Bool) -> Void = { _, _ in }
    /// For `Presence`: whether a session is shown a user; its user has blocked this one, or ended that.
    var isShown: @Reactor (UserID, Session) -> Bool = { _, _ in false }
    var blockDecided: @Reactor (Session, UserID, _ wasShown: Bool) -> Void = { _, _, _ in }

    init(bus: Bus, fetches: FetchQueue, counters: Counters, rooms: Rooms) {
        self.bus = bus
        self.fetches = fetches
        self.counters = counters
        self.rooms = rooms
    }

    subscript(user: UserID) -> PrivateStream? { bySlot[Int(user.slot.number)][user] }

    /// Returns the stream of a user. A new one starts at the given position; an existing one learns of it.
    func open(_ user: UserID, useq: Int64) -> PrivateStream {
        if let stream = self[user] {
            stream.learn(useq)
            return stream
        }
        let stream = PrivateStream(user, useq: useq, in: self)
        bySlot[Int(user.slot.number)][user] = stream
        recorder.finding(for: user, in: user.slot)
            .apply(learn: { stream.learn($0) }, doubt: { doubt(user.slot) })
        return stream
    }

    func leave(_ session: Session) {
        guard let stream = self[session.user] else { return }
        stream.feed.remove(session)
        if stream.feed.isEmpty { bySlot[Int(session.user.slot.number)][session.user] = nil }
    }

    /// A session's user has blocked somebody, or ended that: closes the direct conversation of the two, or opens it again.
    func decided(_ block: Block, _ session: Session) {
        guard !session.hasEnded else { return }
        let wasShown = block.user.map { isShown($0, session) } ?? false
        if let user = block.user { session.block(user, block.isBlocked) }
        if block.seq > 0, !block.isBlocked {
            join(session, Joining(block))
        } else if block.seq > 0 {
            close(session, block)
        }
        if let user = block.user { blockDecided(session, user, wasShown) }
    }

    private func close(_ session: Session, _ block: Block) {
        if let room = rooms[block.conversation], session.isIn(room) {
            room.close(session, at: block.seq)
        } else {
            session.windows.cut(block.conversation, through: block.seq)
        }
    }

    /// Adds a session to a conversation that its user has joined.
    func join(_ session: Session, _ joining: Joining) {
        guard !session.hasEnded else { return }
        let conversation = joining.conversation, lastSeq = joining.lastSeq
        let room = rooms.open(conversation, lastSeq: lastSeq, statusVersion: 0)
        room.learn(memberCount: joining.memberCount, at: joining.countedAt)
        session.windows.open(conversation, at: joining.start + 1, isMember: session.isIn(room))
        room.join(session, after: lastSeq, Stays([.init(from: joining.start + 1, through: nil)]))
        // The change that began the stay exists, and others may have been announced before there was a room.
        room.learn(joining.isChange ? lastSeq + 1 : joining.countedAt)
        joined(session, room)
        roomJoined(session)
    }

    // MARK: From the bus

    func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            guard let entry = try? PrivateEntry(from: &reader) else {
                counters.entriesRefused += 1
                bus.refuseEntry(of: frame)
                continue
            }
            if let stream = self[entry.user] {
                if entry.useq > stream.feed.last { stream.announce(PrivateFrame(entry)) }
            } else {
                recorder.record(entry.user, entry.useq)
            }
        }
    }

    func learn(_ user: UserID, useq: Int64) {
        if let stream = self[user] { stream.learn(useq) } else { recorder.record(user, useq) }
    }

    func positions(in slot: Slot) -> [StreamPosition] {
        bySlot[Int(slot.number)].map { StreamPosition(.user($0.key), $0.value.feed.last) }
    }
}
