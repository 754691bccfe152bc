import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// Who is online, told to those who share a small conversation with them, on this and all other processes.
///
/// Each process tells the others, conversation by conversation, whom it shows: everybody with a session here who wants to
/// be shown. A list takes the place of the one before, so a lost one is healed by the next, at the latest when everything
/// is told again; what a silent process showed is dropped. Nothing is stored here, nothing waits for an answer, and
/// sessions are told only while little else waits for them.
@Reactor
final class Presence {
    /// Groups with more members show nobody: in a large one somebody always comes or goes. The limit of frames that name
    /// members in receipts, too.
    static let membersLimit = 50
    /// Lists published, users told of, and sessions greeted in one go: about a millisecond's work each.
    static let portion = 512

    let bus: Bus
    let rooms: Rooms
    let timing: PresenceTiming
    var news = PresenceNews()
    var outbox: PresenceOutbox
    private let streams: PrivateStreams
    private let sessions: SessionTable
    private let counters: Counters
    private let lastSeen: LastSeenSender
    private var departures = Departures()
    /// Conversations whose list is to be told.
    private var dirty: [ConversationID] = []
    private var dirtySet: Set<ConversationID> = []
    /// Sessions that are to be told who is online in these of their rooms.
    private var newcomers: [(session: Session, rooms: ContiguousArray<Room>)] = []
    private var isGathering = false
    /// Other processes, and when each was last heard.
    private var processes: [Instance: MonotonicTime] = [:]
    private var heartbeats = 0
    /// Counts the users that were told of: a session with this number has been told of the present one.
    private var mark = 0

    init(
        bus: Bus, rooms: Rooms, streams: PrivateStreams, sessions: SessionTable, counters: Counters,
        timing: PresenceTiming
    ) {
        self.sessions = sessions
        self.counters = counters
        outbox = PresenceOutbox(counters: counters)
        self.bus = bus
        self.rooms = rooms
        self.streams = streams
        self.timing = timing
        lastSeen = LastSeenSender(bus: bus)
        rooms.left = { [unowned self] in left($0, $1) }
        rooms.closed = { [unowned self] in closed($0) }
        rooms.resized = { [unowned self] in changed($0.conversation) }
        rooms.membership = { [unowned self] in membershipChanged($0, $1, isMember: $2) }
        streams.joined = { [unowned self] in joined($0, $1) }
        streams.presenceDecided = { [unowned self] in decided($0, shows: $1) }
    }

    /// Begins to be there for the others.
    func start() {
        Reactor.every(timing.heartbeat) { [weak self] in self?.beat() }
        Reactor.every(timing.seen) { [weak self] in self?.tellWhoIsSeen() }
    }

    /// For the end of the process. The others show its users as online until it has been silent for a while: most have
    /// come back elsewhere by then.
    func finish() { lastSeen.send() }

    func addMetrics(to metrics: Metrics) {
        metrics.gauge("parley_fanout_users_online", "Users shown as online to sessions here, wherever they are") {
            [unowned self] in Double(news.onlineCount)
        }
    }

    // MARK: Sessions

    /// A session is in its rooms.
    func started(_ session: Session) {
        for conversation in departures.remove(session.user) { changed(conversation) }
        guard session.showsPresence else { return }
        for room in session.rooms { changed(room.conversation) }
        newcomers.append((session, session.rooms))
        // Later: who is online is known by then.
        Reactor.after(timing.gathering * 5) { [weak self] in self?.tellWhenPeersWereSeen(session) }
    }

    private func tellWhenPeersWereSeen(_ session: Session) {
        guard session.rooms.contains(where: \.isDirect) else { return }
        lastSeen.ofPeers(session.user) { [weak self] departures in
            guard let self, !session.hasEnded, session.showsPresence else { return }
            for departure in departures where !session.sees(departure.user) {
                outbox.tell(session, departure.user, ServerFrame.presence(departure.user, lastSeen: departure.lastSeen))
            }
        }
    }

    /// A session has left its rooms.
    func ended(_ session: Session, _ rooms: ContiguousArray<Room>) {
        outbox.forget(session)
        guard session.showsPresence else { return }
        let conversations = rooms.filter { $0.showsPresence && $0.hasMember(session) }.map(\.conversation)
        if streams[session.user] == nil {
            lastSeen.seen(session.user)
            departures.add(
                session.user, conversations, lastSeen: .thisMinute, until: MonotonicTime.now + timing.grace)
        }
        gather()
        for conversation in conversations { changed(conversation) }
    }

    private func joined(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        room.presence.newcomers.append(ObjectIdentifier(session))
        newcomers.append((session, [room]))
    }

    /// The session's user is no member any more.
    private func left(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        for user in room.presence.users where user != session.user && !session.sees(user) {
            outbox.tell(session, user, ServerFrame.presence(user, lastSeen: nil))
        }
    }

    private func decided(_ session: Session, shows: Bool) {
        guard session.showsPresence != shows else { return }
        session.showsPresence = shows
        if shows { return started(session) }
        outbox.forget(session)
        for room in session.rooms { changed(room.conversation) }
    }

    // MARK: Lists

    /// Somebody may have come to, or gone from, the list of a conversation.
    private func changed(_ conversation: ConversationID) {
        if dirtySet.insert(conversation).inserted { dirty.append(conversation) }
        gather()
    }

    private func publish(_ conversation: ConversationID) {
        let room = rooms[conversation]
        let asks = room.map { $0.showsPresence && !$0.presence.isAsked } ?? false
        if asks { room?.presence.isAsked = true }
        let list = PresenceList(
            conversation, asks: asks, online: shown(in: conversation, room),
            departed: Array(departures.takeEnded(in: conversation).prefix(Int(UInt8.max))))
        bus.append(to: .ephemeral(conversation.slot.group)) { EphemeralEntry.presence(list).write(to: &$0) }
        take(list, from: bus.instance)
    }

    private func shown(in conversation: ConversationID, _ room: Room?) -> [UserID] {
        if let room, !room.showsPresence { return [] }
        var users = departures.users(in: conversation)
        room?.feed.forEachSubscriber { session in
            guard session.showsPresence, room?.hasMember(session) == true else { return }
            if !users.contains(session.user) { users.append(session.user) }
        }
        return Array((room?.presence.listed(users) ?? users).prefix(Self.membersLimit))
    }

    /// From another process.
    func receive(_ list: PresenceList, from process: Instance) {
        hear(process)
        take(list, from: process)
        if list.asks, let room = rooms[list.conversation], !room.presence.list(of: bus.instance).isEmpty {
            changed(list.conversation)
        }
    }

    private func take(_ list: PresenceList, from process: Instance) {
        guard let room = rooms[list.conversation] else { return }
        let (appeared, gone) = room.presence.replace(process, room.showsPresence ? list.online : [])
        for user in appeared { news.appeared(user, in: list.conversation) }
        for user in gone {
            let departure = list.departed.first { $0.user == user }
            news.gone(user, from: list.conversation, lastSeen: departure?.lastSeen)
        }
        if !news.isEmpty { gather() }
    }

    /// What others list follows a moment later.
    private func membershipChanged(_ room: Room, _ user: UserID, isMember: Bool) {
        if isMember {
            guard room.presence.add(user) else { return }
            news.appeared(user, in: room.conversation)
        } else {
            guard room.presence.remove(user) else { return }
            news.gone(user, from: room.conversation, lastSeen: nil)
        }
        gather()
    }

    private func closed(_ room: Room) {
        for user in room.presence.users { news.forget(user) }
    }

    // MARK: Other processes

    func hear(_ process: Instance) {
        guard processes.updateValue(.now, forKey: process) == nil else { return }
        // It knows nothing yet of what is shown here.
        rooms.forEach { changed($0.conversation) }
    }

    private func beat() {
        bus.append(to: .ephemeral(SlotGroup(0))) { EphemeralEntry.alive.write(to: &$0) }
        let now = MonotonicTime.now
        for (process, heard) in processes where now - heard >= timing.silence { lose(process) }
        refresh()
    }

    /// Nobody knows yet where its users are now: `receipt` is told that they were here.
    private func lose(_ process: Instance) {
        processes[process] = nil
        var expired: Set<UserID> = []
        rooms.forEach { room in
            let users = room.presence.list(of: process)
            guard !users.isEmpty else { return }
            for user in users { lastSeen.seen(user) }
            expired.formUnion(users)
            let departed = users.map { PresenceList.Departure($0, lastSeen: .thisMinute) }
            take(PresenceList(room.conversation, asks: false, online: [], departed: departed), from: process)
        }
        counters.presenceExpired += expired.count
    }

    /// Tells everything again, a part of the slots at each heartbeat.
    private func refresh() {
        let beats = max(1, Int(timing.refresh / timing.heartbeat))
        for slot in Slot.all where Int(slot.number) % beats == heartbeats % beats {
            rooms.forEach(in: slot) { room in
                if !room.presence.list(of: bus.instance).isEmpty { changed(room.conversation) }
            }
        }
        heartbeats += 1
    }

    private func tellWhoIsSeen() {
        for session in sessions.all where session.showsPresence { lastSeen.seen(session.user) }
    }

    // MARK: Telling

    private func gather() {
        guard !isGathering else { return }
        isGathering = true
        Reactor.after(timing.gathering) { [weak self] in self?.tellNews() }
    }

    private func tellNews() {
        isGathering = false
        for conversation in departures.takeEnded(at: .now) { changed(conversation) }
        for conversation in takeDirty() { publish(conversation) }
        for (user, change) in news.take(Self.portion) { tell(user, change) }
        greet()
        outbox.sendWaiting()
        if !(dirty.isEmpty && news.isEmpty && newcomers.isEmpty && outbox.isEmpty && departures.isEmpty) { gather() }
    }

    private func tell(_ user: UserID, _ change: PresenceNews.Change) {
        mark += 1
        let isOnline = news.isOnline(user)
        if !change.appearedIn.isEmpty {
            tell(user, in: change.appearedIn, isThere: true, ServerFrame.presence(user))
        }
        if !change.goneFrom.isEmpty {
            let frame = ServerFrame.presence(user, lastSeen: isOnline ? nil : change.lastSeen)
            tell(user, in: change.goneFrom, isThere: false, frame)
        }
    }

    /// Each session once, and only of what holds for it: who is gone from one conversation may be seen in another one.
    private func tell(_ user: UserID, in conversations: [ConversationID], isThere: Bool, _ frame: WebSocketFrame) {
        let isOnline = news.isOnline(user)
        for room in conversations.compactMap({ rooms[$0] }) where room.presence.contains(user) == isThere {
            room.feed.forEachSubscriber { session in
                guard session.presenceMark != mark, session.user != user, session.showsPresence,
                    room.hasMember(session),
                    isThere || !(isOnline && session.sees(user) || room.isNew(session))
                else { return }
                session.presenceMark = mark
                outbox.tell(session, user, frame)
            }
        }
    }

    private func takeDirty() -> [ConversationID] {
        let taken = Array(dirty.prefix(Self.portion))
        dirty.removeFirst(taken.count)
        for conversation in taken { dirtySet.remove(conversation) }
        return taken
    }

    private func greet() {
        let greeted = newcomers.prefix(Self.portion / 8)
        newcomers.removeFirst(greeted.count)
        for (session, rooms) in greeted {
            for room in rooms { room.presence.newcomers.removeAll { $0 == ObjectIdentifier(session) } }
        }
        for (session, rooms) in greeted where !session.hasEnded && session.showsPresence {
            var told: Set<UserID> = [session.user]
            for room in rooms where room.showsPresence && room.hasMember(session) {
                for user in room.presence.users where told.insert(user).inserted {
                    outbox.tell(session, user, ServerFrame.presence(user))
                }
            }
        }
    }
}

extension Room {
    /// Direct conversations alone have ids of version 8.
    var isDirect: Bool { conversation.uuid.version == 8 }

    /// Whether its members see each other online.
    var showsPresence: Bool { isDirect || (1...Presence.membersLimit).contains(memberCount) }

    /// Whether the session has joined, and has not been told yet who is here.
    func isNew(_ session: Session) -> Bool { presence.newcomers.contains(ObjectIdentifier(session)) }

    /// A former member may still be here, to catch up.
    func hasMember(_ session: Session) -> Bool { session.windows.isMember(of: conversation) }
}

extension Session {
    /// Whether a user is shown to this session, wherever.
    func sees(_ user: UserID) -> Bool {
        rooms.contains { $0.presence.contains(user) && $0.showsPresence && $0.hasMember(self) }
    }
}

extension Timestamp {
    /// The minute that is running: presence is not told more exactly.
    static var thisMinute: Timestamp {
        let now = Timestamp.now.milliseconds
        return Timestamp(milliseconds: now - now % 60_000)
    }
}
