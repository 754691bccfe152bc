import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// Announces who is online to users who share a small conversation with them, on this and all other processes.
///
/// Each process announces the users it shows by conversation: everybody with a session here who wants to be shown. A
/// list replaces the previous one, so the next list repairs a lost one, at the latest when all lists are announced
/// again. The lists of a silent process are dropped. Nothing is stored or waits for a response, and sessions get frames
/// only while they are not congested.
///
/// `PresenceState` decides. This class owns it, asks rooms and sessions, spreads the work over turns, and carries it out.
@Reactor
final class Presence {
    /// The most conversations searched to find out whether a session sees a user. A user not found among so many is not
    /// announced as gone, and stays shown until they go offline.
    static let searchLimit = 4_096

    private let bus: Bus
    private let rooms: Rooms
    private let timing: PresenceTiming
    /// Kept, because sessions that wait here to be sent something refer to their streams without keeping them.
    private let streams: PrivateStreams
    private let sessions: SessionTable
    private let counters: Counters
    private let lastSeen: LastSeenSender
    private let turns: Turns
    private var state: PresenceState<Session, Room>

    init(
        bus: Bus, rooms: Rooms, streams: PrivateStreams, sessions: SessionTable, counters: Counters, turns: Turns,
        timing: PresenceTiming
    ) {
        self.turns = turns
        self.sessions = sessions
        self.counters = counters
        self.bus = bus
        self.rooms = rooms
        self.timing = timing
        self.streams = streams
        state = PresenceState(timing: timing)
        lastSeen = LastSeenSender(bus: bus, turns: turns)
        lastSeen.onResponse = { [weak self, turns] session, departures in
            turns.forEach(departures) { self?.sendLastSeen(session, $0) }
        }
        rooms.left = { [unowned self] in left($0, $1) }
        rooms.closed = { [unowned self] in closed($0) }
        rooms.resized = { [unowned self] in changed($0.conversation) }
        rooms.membership = { [unowned self] in membershipChanged($0, $1, isMember: $2) }
        streams.joined = { [unowned self] in joined($0, $1) }
        streams.presenceDecided = { [unowned self] in decided($0, shows: $1) }
        streams.isShown = { [unowned self] in sees($1, $0) }
        streams.blockDecided = { [unowned self] in blockDecided($0, $1, wasShown: $2) }
    }

    /// Starts heartbeats and reports.
    func start() {
        Reactor.every(timing.heartbeat) { [weak self] in self?.sendHeartbeat() }
        Reactor.every(timing.seen) { [weak self] in self?.reportSeenUsers() }
    }

    /// Ends presence at the end of the process. The other processes show its users as online until it has been silent
    /// for a while; most have reconnected elsewhere by then.
    func finish() { lastSeen.send() }

    func addMetrics(to metrics: Metrics) {
        metrics.gauge("parley_fanout_users_online", "Users shown as online to sessions here, wherever they are") {
            [unowned self] in Double(state.onlineCount)
        }
    }

    private func perform(_ work: PresenceState<Session, Room>.Work) {
        if work.beginsRound { Reactor.after(timing.gathering) { [weak self] in self?.announceUpdates() } }
    }

    // MARK: Sessions

    /// Handles a session that has joined one of its rooms.
    func placed(_ session: Session, _ room: Room) { if session.showsPresence { changed(room.conversation) } }

    /// Handles a session that has joined all of its rooms.
    func started(_ session: Session) {
        if let departure = state.cancelDeparture(of: session.user) {
            turns.forEach(departure.conversations) { [self] in perform(state.isBack(in: $0, from: departure)) }
        }
        guard session.showsPresence else { return }
        perform(state.add(newcomer: session, in: Array(session.rooms.values)))
        // Delayed until it is known who is online.
        Reactor.after(timing.gathering * 5) { [weak self] in self?.queryPeers(session) }
    }

    private func queryPeers(_ session: Session) {
        guard !session.isLeaving, session.rooms.values.contains(where: \.isDirect) else { return }
        lastSeen.queryPeers(of: session)
    }

    private func sendLastSeen(_ session: Session, _ departure: PresenceList.Departure) {
        guard !session.hasEnded, session.showsPresence, !session.blocked.contains(departure.user),
            !sees(session, departure.user)
        else { return }
        send(ServerFrame.presence(departure.user, lastSeen: departure.lastSeen), about: departure.user, to: session)
    }

    /// The state of a session that leaves its rooms.
    struct Leaving {
        fileprivate let isLast: Bool
        fileprivate let ticket: Departures.Ticket?
    }

    /// Begins the departure of a session from its rooms. `isLast`: its user has no other session in its rooms.
    func ending(_ session: Session, isLast: Bool) -> Leaving {
        forgetFrames(of: session)
        guard session.showsPresence, isLast else { return Leaving(isLast: false, ticket: nil) }
        lastSeen.seen(session.user)
        let (ticket, work) = state.beginDeparture(
            of: session.user, blocked: session.blockMarks, lastSeen: .thisMinute, at: .now)
        perform(work)
        return Leaving(isLast: true, ticket: ticket)
    }

    func leaving(_ session: Session, _ room: Room, _ leaving: Leaving) {
        guard session.showsPresence, room.showsPresence, room.hasMember(session) else { return }
        perform(
            state.left(
                room.conversation, session.user, isLast: leaving.isLast, leaving.ticket, lastSeen: .thisMinute))
    }

    private func joined(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        room.presence.newcomers.insert(ObjectIdentifier(session))
        perform(state.add(newcomer: session, in: [room]))
    }

    /// Handles a session whose user has left the conversation.
    private func left(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        for user in room.presence.users
        where user != session.user && room.mayShow(user, to: session) && !sees(session, user) {
            send(ServerFrame.presence(user, lastSeen: nil), about: user, to: session)
        }
    }

    private func decided(_ session: Session, shows: Bool) {
        guard state.decide(session, shows: shows, isShown: session.showsPresence) == .applies else { return }
        Reactor.after(timing.decision) { [weak self] in
            guard let self, let last = state.decisionIsOver(session), !session.isLeaving else { return }
            decided(session, shows: last)
        }
        apply(shows, to: session)
    }

    private func apply(_ shows: Bool, to session: Session) {
        session.showsPresence = shows
        if shows { started(session) } else { forgetFrames(of: session) }
        turns.forEach(session.rooms.values) { [weak self] in self?.changed($0.conversation) }
    }

    /// The lists of this process say whom its users have blocked. The session itself is shown the other no more, or again.
    private func blockDecided(_ session: Session, _ user: UserID, wasShown: Bool) {
        guard session.showsPresence else { return }
        let isShown = sees(session, user)
        if isShown != wasShown {
            send(
                isShown ? ServerFrame.presence(user) : ServerFrame.presence(user, lastSeen: nil), about: user,
                to: session)
        }
        announceBlocks(of: session)
    }

    /// At once, and of what follows within a second all together, because it is work in all of the user's conversations.
    private func announceBlocks(of session: Session) {
        guard !session.announcesBlocks else { return session.hasBlocksToAnnounce = true }
        session.announcesBlocks = true
        turns.forEach(session.rooms.values) { [weak self] in self?.changed($0.conversation) }
        Reactor.after(timing.decision) { [weak self] in
            session.announcesBlocks = false
            guard let self, session.hasBlocksToAnnounce, !session.isLeaving else { return }
            session.hasBlocksToAnnounce = false
            announceBlocks(of: session)
        }
    }

    // MARK: Lists

    /// Schedules the list of a conversation to be published, because it may have changed.
    private func changed(_ conversation: ConversationID) { perform(state.listChanged(conversation)) }

    private func changed(in slot: Slot, where isConcerned: (Room) -> Bool) {
        turns.spend(rooms.count(in: slot) / 4)
        rooms.forEach(in: slot) { if isConcerned($0) { changed($0.conversation) } }
    }

    private func publish(_ conversation: ConversationID) {
        let room = rooms[conversation]
        let asks = room.map { $0.showsPresence && !$0.presence.isAsked } ?? false
        if asks { room?.presence.isAsked = true }
        let (online, blocked) = shown(in: conversation, room)
        let list = PresenceList(
            conversation, asks: asks, online: online, departed: state.takeDeparted(from: conversation),
            blocked: blocked)
        bus.append(to: .ephemeral(conversation.slot.group)) { EphemeralEntry.presence(list).write(to: &$0) }
        take(list, from: bus.instance)
    }

    /// Returns whom this process shows, and whom these have blocked. In a direct conversation nobody has: it is closed then.
    private func shown(in conversation: ConversationID, _ room: Room?) -> (users: [UserID], blocked: [BlockMarks]) {
        if let room, !room.showsPresence { return ([], []) }
        var users: [UserID] = []
        var marks: [BlockMarks] = []
        func show(_ user: UserID, _ blocked: [UInt64]?) {
            guard conversation.isDirect || blocked != nil, !users.contains(user) else { return }
            users.append(user)
            if let blocked, !blocked.isEmpty, !conversation.isDirect { marks.append(BlockMarks(user, hashes: blocked)) }
        }
        room?.feed.forEachSubscriber { session in
            guard session.showsPresence, room?.hasMember(session) == true else { return }
            show(session.user, session.blockMarks)
        }
        for (user, blocked) in state.departing(from: conversation) { show(user, blocked) }
        users = Array((room?.presence.listed(users) ?? users).prefix(ContractLimits.namedMembers))
        return (users, marks.filter { users.contains($0.user) })
    }

    /// Handles a list from another process.
    func receive(_ list: PresenceList, from process: Instance) {
        recordActivity(of: process)
        take(list, from: process)
        if list.asks, let room = rooms[list.conversation], !room.presence.list(of: bus.instance).isEmpty {
            changed(list.conversation)
        }
    }

    private func take(_ list: PresenceList, from process: Instance) {
        guard let room = rooms[list.conversation] else { return }
        let former = room.presence.hasMarks || !list.blocked.isEmpty ? room.presence.marks(of: list.online) : []
        let (appeared, gone) = room.presence.replace(
            process, room.showsPresence ? list.online : [], blocked: list.blocked)
        perform(state.changed(list, appeared: appeared, gone: gone))
        for (user, former) in zip(list.online, former) { showOrHide(user, in: room, former) }
    }

    /// Tells those about a user who is online whom that user has just blocked, or no longer blocks.
    private func showOrHide(_ user: UserID, in room: Room, _ former: Set<UInt64>?) {
        let present = room.presence.blocked(by: user)
        guard let former, former != present, room.presence.contains(user) else { return }
        turns.spend(room.feed.count / 8)
        room.feed.forEachSubscriber { session in
            guard session.showsPresence, room.hasMember(session),
                former.contains(session.hash) != present.contains(session.hash), !session.blocked.contains(user)
            else { return }
            let frame = sees(session, user) ? ServerFrame.presence(user) : ServerFrame.presence(user, lastSeen: nil)
            send(frame, about: user, to: session)
        }
    }

    /// Handles a change of members. The lists of other processes follow a moment later.
    private func membershipChanged(_ room: Room, _ user: UserID, isMember: Bool) {
        if isMember {
            if room.presence.add(user) { perform(state.appeared(user, in: room.conversation)) }
        } else {
            if room.presence.remove(user) { perform(state.gone(user, from: room.conversation)) }
        }
    }

    private func closed(_ room: Room) { state.forget(room.presence.users, in: room.conversation) }

    // MARK: Other processes

    func recordActivity(of process: Instance) {
        guard state.heard(from: process, at: .now) else { return }
        turns.forEach(Slot.all) { [weak self] in self?.changed(in: $0) { _ in true } }
    }

    private func sendHeartbeat() {
        bus.append(to: .ephemeral(SlotGroup(0))) { EphemeralEntry.alive.write(to: &$0) }
        let beat = state.beat(at: .now)
        for process in beat.lost { lose(process) }
        turns.forEach(beat.slots) { [weak self] slot in
            guard let self else { return }
            changed(in: slot) { !$0.presence.list(of: self.bus.instance).isEmpty }
        }
    }

    /// Removes a silent process. It is unknown where its users are now, so this process reports to `receipt` when they
    /// were seen.
    private func lose(_ process: Instance) {
        turns.forEach(Slot.all) { [weak self] in self?.lose(process, in: $0) }
    }

    private func lose(_ process: Instance, in slot: Slot) {
        turns.spend(rooms.count(in: slot) / 4)
        var expired: Set<UserID> = []
        rooms.forEach(in: slot) { room in
            let users = room.presence.list(of: process)
            guard !users.isEmpty else { return }
            expired.formUnion(users)
            let departed = users.map { PresenceList.Departure($0, lastSeen: .thisMinute) }
            take(PresenceList(room.conversation, asks: false, online: [], departed: departed), from: process)
        }
        for user in expired { lastSeen.seen(user) }
        counters.presenceExpired += expired.count
    }

    private func reportSeenUsers() {
        turns.forEach(sessions.all) { [lastSeen] in if $0.showsPresence { lastSeen.seen($0.user) } }
    }

    // MARK: Announcing

    /// Publishes lists and announces updates, over several turns.
    private func announceUpdates() {
        guard let departures = state.beginRound(at: .now) else { return }
        for departure in departures {
            turns.forEach(departure.conversations) { [weak self] conversation in
                guard let self else { return }
                perform(state.departed(from: conversation, departure))
            }
        }
        turns.run { [self] in
            switch state.nextStep() {
            case .publish(let conversation): publish(conversation)
            case .announce(let announcement, let conversation, let isThere):
                announce(announcement, in: conversation, isThere: isThere)
            case nil:
                finishRound()
                return false
            }
            return true
        }
    }

    private func finishRound() {
        let end = state.endRound()
        for (session, rooms) in end.newcomers { sendOnline(session, rooms) }
        turns.forEach(end.waiting) { [self] in turns.spend(sendWaiting(to: $0) / 8) }
        perform(end.work)
    }

    /// Sends the announcement to each session once, and only if it holds there: a user gone from one conversation may
    /// be visible in another.
    private func announce(
        _ announcement: PresenceState<Session, Room>.Announcement, in conversation: ConversationID, isThere: Bool
    ) {
        guard let room = rooms[conversation], room.presence.contains(announcement.user) == isThere else { return }
        turns.spend(room.feed.count / 8)
        room.feed.forEachSubscriber { session in
            guard session.presenceMark != announcement.number, session.user != announcement.user,
                session.showsPresence, room.hasMember(session), room.mayShow(announcement.user, to: session),
                isThere || !(announcement.isOnline && sees(session, announcement.user) || room.isNew(session))
            else { return }
            session.presenceMark = announcement.number
            send(isThere ? announcement.appeared : announcement.gone, about: announcement.user, to: session)
        }
    }

    private func sendOnline(_ session: Session, _ rooms: [Room]) {
        var sent: Set<UserID> = [session.user]
        turns.forEach(rooms) { [self] room in
            room.presence.newcomers.remove(ObjectIdentifier(session))
            guard !session.hasEnded, session.showsPresence, room.showsPresence, room.hasMember(session) else { return }
            for user in room.presence.users where room.mayShow(user, to: session) && sent.insert(user).inserted {
                send(ServerFrame.presence(user), about: user, to: session)
            }
        }
    }

    /// Returns whether a user is shown to a session in any conversation. Searches the conversations of whichever is in
    /// fewer.
    private func sees(_ session: Session, _ user: UserID) -> Bool {
        let conversations = state.conversations(of: user)
        guard !conversations.isEmpty else { return false }
        turns.spend(min(conversations.count, session.rooms.count, Self.searchLimit) / 16)
        if session.rooms.count < conversations.count {
            return session.rooms.values.prefix(Self.searchLimit).contains { shows(user, in: $0, to: session) }
                || session.rooms.count > Self.searchLimit
        }
        let isFound = conversations.prefix(Self.searchLimit).contains { conversation in
            rooms[conversation].map { session.isIn($0) && shows(user, in: $0, to: session) } ?? false
        }
        return isFound || conversations.count > Self.searchLimit
    }

    private func shows(_ user: UserID, in room: Room, to session: Session) -> Bool {
        room.presence.contains(user) && room.showsPresence && room.hasMember(session) && room.mayShow(user, to: session)
    }

    // MARK: Frames

    private func send(_ frame: WebSocketFrame, about user: UserID, to session: Session) {
        switch state.queue(frame, about: user, for: session, isCongested: session.isCongested) {
        case .send: send(frame, to: session)
        case .waits: break
        case .drops: counters.presenceDropped += 1
        }
    }

    /// - Returns: the number of frames sent.
    private func sendWaiting(to session: Session) -> Int {
        guard !session.isCongested else { return 0 }
        let frames = state.takeFrames(for: session)
        for frame in frames { send(frame, to: session) }
        return frames.count
    }

    private func send(_ frame: WebSocketFrame, to session: Session) {
        counters.presenceFrames += 1
        session.send(frame)
    }

    private func forgetFrames(of session: Session) { counters.presenceDropped += state.takeFrames(for: session).count }
}

extension ConversationID {
    /// Only direct conversations have ids of version 8.
    fileprivate var isDirect: Bool { uuid.version == 8 }
}

extension Session {
    /// Whom the user has blocked, for lists; nil: too many for one.
    fileprivate var blockMarks: [UInt64]? { blocked.count > BlockMarks.limit ? nil : blockHashes }
}

extension Room {
    var isDirect: Bool { conversation.isDirect }

    /// Whether neither of them has blocked the other.
    func mayShow(_ user: UserID, to session: Session) -> Bool {
        !session.blocked.contains(user) && !presence.hides(user, from: session.hash)
    }

    /// Whether its members see each other online.
    var showsPresence: Bool { isDirect || (1...ContractLimits.namedMembers).contains(memberCount) }

    /// Returns whether the session has just joined and has not been sent yet who is here.
    func isNew(_ session: Session) -> Bool { presence.newcomers.contains(ObjectIdentifier(session)) }

    /// Returns whether the session's user is a member. A former member may still be here to catch up.
    func hasMember(_ session: Session) -> Bool { session.windows.isMember(of: conversation) }
}

extension Timestamp {
    /// The current minute, the resolution of presence.
    static var thisMinute: Timestamp {
        let now = Timestamp.now.milliseconds
        return Timestamp(milliseconds: now - now % 60_000)
    }
}
