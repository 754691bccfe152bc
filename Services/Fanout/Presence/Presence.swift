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
@Reactor
final class Presence {
    /// The most conversations searched to find out whether a session sees a user. A user not found among so many is not
    /// announced as gone, and stays shown until they go offline.
    static let searchLimit = 4_096

    let bus: Bus
    let rooms: Rooms
    let timing: PresenceTiming
    var updates = PresenceUpdates()
    var outbox: PresenceOutbox
    private let streams: PrivateStreams
    private let sessions: SessionTable
    private let counters: Counters
    private let lastSeen: LastSeenSender
    private let turns: Turns
    private var departures = Departures()
    /// Sessions whose users changed their setting within the last second, and the latest setting.
    private var decisions = IdentityTable<Bool>()
    /// Conversations whose list is to be published.
    private var dirty = FIFO<ConversationID>()
    private var dirtySet: Set<ConversationID> = []
    /// Sessions that are to be sent who is online in these of their rooms.
    private var newcomers: [(session: Session, rooms: [Room])] = []
    private var isGathering = false
    private var isAnnouncing = false
    private var announcement: Announcement?
    /// Other processes, and the time of their last frame.
    private var processes: [Instance: MonotonicTime] = [:]
    private var heartbeats = 0
    /// The number of the current announcement. A session with this mark already has it.
    private var mark = 0

    init(
        bus: Bus, rooms: Rooms, streams: PrivateStreams, sessions: SessionTable, counters: Counters, turns: Turns,
        timing: PresenceTiming
    ) {
        self.turns = turns
        self.sessions = sessions
        self.counters = counters
        outbox = PresenceOutbox(counters: counters)
        self.bus = bus
        self.rooms = rooms
        self.streams = streams
        self.timing = timing
        lastSeen = LastSeenSender(bus: bus, turns: turns)
        lastSeen.onResponse = { [unowned self, turns] session, departures in
            turns.forEach(departures) { [weak self] in self?.sendLastSeen(session, $0) }
        }
        rooms.left = { [unowned self] in left($0, $1) }
        rooms.closed = { [unowned self] in closed($0) }
        rooms.resized = { [unowned self] in changed($0.conversation) }
        rooms.membership = { [unowned self] in membershipChanged($0, $1, isMember: $2) }
        streams.joined = { [unowned self] in joined($0, $1) }
        streams.presenceDecided = { [unowned self] in decided($0, shows: $1) }
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
            [unowned self] in Double(updates.onlineCount)
        }
    }

    // MARK: Sessions

    /// Handles a session that has joined one of its rooms.
    func placed(_ session: Session, _ room: Room) { if session.showsPresence { changed(room.conversation) } }

    /// Handles a session that has joined all of its rooms.
    func started(_ session: Session) {
        if let departure = departures.remove(session.user) {
            turns.forEach(departure.conversations) { [self] conversation in
                departures.leave(conversation, departure)
                changed(conversation)
            }
        }
        guard session.showsPresence else { return }
        sendOnlineLater(session, Array(session.rooms.values))
        // Delayed until it is known who is online.
        Reactor.after(timing.gathering * 5) { [weak self] in self?.queryPeers(session) }
    }

    private func sendOnlineLater(_ session: Session, _ rooms: [Room]) {
        newcomers.append((session, rooms))
        gather()
    }

    private func queryPeers(_ session: Session) {
        guard !session.isLeaving, session.rooms.values.contains(where: \.isDirect) else { return }
        lastSeen.queryPeers(of: session)
    }

    private func sendLastSeen(_ session: Session, _ departure: PresenceList.Departure) {
        guard !session.hasEnded, session.showsPresence, !sees(session, departure.user) else { return }
        outbox.add(session, departure.user, ServerFrame.presence(departure.user, lastSeen: departure.lastSeen))
    }

    /// The state of a session that leaves its rooms.
    struct Leaving {
        fileprivate let isLast: Bool
        fileprivate let ticket: Departures.Ticket?
    }

    /// Begins the departure of a session from its rooms. `isLast`: its user has no other session in its rooms.
    func ending(_ session: Session, isLast: Bool) -> Leaving {
        outbox.forget(session)
        guard session.showsPresence, isLast else { return Leaving(isLast: false, ticket: nil) }
        lastSeen.seen(session.user)
        gather()
        let ends = MonotonicTime.now + timing.grace
        return Leaving(isLast: true, ticket: departures.begin(session.user, lastSeen: .thisMinute, until: ends))
    }

    func leaving(_ session: Session, _ room: Room, _ leaving: Leaving) {
        guard session.showsPresence, room.showsPresence, room.hasMember(session) else { return }
        let conversation = room.conversation
        let departs = leaving.ticket.map { departures.add(conversation, to: $0, of: session.user) } ?? false
        if leaving.isLast, !departs { departures.end(session.user, conversation, lastSeen: .thisMinute) }
        changed(conversation)
    }

    private func joined(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        room.presence.newcomers.insert(ObjectIdentifier(session))
        sendOnlineLater(session, [room])
    }

    /// Handles a session whose user has left the conversation.
    private func left(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        for user in room.presence.users where user != session.user && !sees(session, user) {
            outbox.add(session, user, ServerFrame.presence(user, lastSeen: nil))
        }
    }

    /// Applies a changed setting. The first change takes effect at once; of further ones within a second only the last
    /// does, afterwards, because each is work in all of the user's conversations.
    private func decided(_ session: Session, shows: Bool) {
        guard decisions[session] == nil else { return decisions.set(session, shows) }
        guard session.showsPresence != shows else { return }
        decisions.append(session, shows)
        Reactor.after(timing.decision) { [weak self] in
            guard let self, let last = decisions.remove(session), !session.isLeaving else { return }
            decided(session, shows: last)
        }
        apply(shows, to: session)
    }

    private func apply(_ shows: Bool, to session: Session) {
        session.showsPresence = shows
        if shows { started(session) } else { outbox.forget(session) }
        turns.forEach(session.rooms.values) { [weak self] in self?.changed($0.conversation) }
    }

    // MARK: Lists

    /// Schedules the list of a conversation to be published, because it may have changed.
    private func changed(_ conversation: ConversationID) {
        if dirtySet.insert(conversation).inserted { dirty.append(conversation) }
        gather()
    }

    private func changed(in slot: Slot, where isConcerned: (Room) -> Bool) {
        turns.spend(rooms.count(in: slot) / 4)
        rooms.forEach(in: slot) { if isConcerned($0) { changed($0.conversation) } }
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
        return Array((room?.presence.listed(users) ?? users).prefix(ContractLimits.namedMembers))
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
        let (appeared, gone) = room.presence.replace(process, room.showsPresence ? list.online : [])
        for user in appeared { updates.appeared(user, in: list.conversation) }
        for user in gone {
            let departure = list.departed.first { $0.user == user }
            updates.gone(user, from: list.conversation, lastSeen: departure?.lastSeen)
        }
        if !updates.isEmpty { gather() }
    }

    /// Handles a change of members. The lists of other processes follow a moment later.
    private func membershipChanged(_ room: Room, _ user: UserID, isMember: Bool) {
        if isMember {
            guard room.presence.add(user) else { return }
            updates.appeared(user, in: room.conversation)
        } else {
            guard room.presence.remove(user) else { return }
            updates.gone(user, from: room.conversation, lastSeen: nil)
        }
        gather()
    }

    private func closed(_ room: Room) {
        for user in room.presence.users { updates.forget(user, in: room.conversation) }
    }

    // MARK: Other processes

    func recordActivity(of process: Instance) {
        guard processes.updateValue(.now, forKey: process) == nil else { return }
        // A new process does not know the lists of this one.
        turns.forEach(Slot.all) { [weak self] in self?.changed(in: $0) { _ in true } }
    }

    private func sendHeartbeat() {
        bus.append(to: .ephemeral(SlotGroup(0))) { EphemeralEntry.alive.write(to: &$0) }
        let now = MonotonicTime.now
        for (process, heard) in processes where now - heard >= timing.silence { lose(process) }
        refresh()
    }

    /// Removes a silent process. It is unknown where its users are now, so this process reports to `receipt` when they
    /// were seen.
    private func lose(_ process: Instance) {
        processes[process] = nil
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

    /// Publishes all lists again, a part of the slots at each heartbeat.
    private func refresh() {
        let beats = max(1, Int(timing.refresh / timing.heartbeat))
        let slots = Slot.all.filter { Int($0.number) % beats == heartbeats % beats }
        turns.forEach(slots) { [weak self] slot in
            guard let self else { return }
            changed(in: slot) { !$0.presence.list(of: self.bus.instance).isEmpty }
        }
        heartbeats += 1
    }

    private func reportSeenUsers() {
        turns.forEach(sessions.all) { [lastSeen] in if $0.showsPresence { lastSeen.seen($0.user) } }
    }

    // MARK: Announcing

    private func gather() {
        guard !isGathering else { return }
        isGathering = true
        Reactor.after(timing.gathering) { [weak self] in self?.announceUpdates() }
    }

    /// Publishes lists and announces updates. Rounds do not overlap; each is spread over several turns.
    private func announceUpdates() {
        isGathering = false
        guard !isAnnouncing else { return }
        isAnnouncing = true
        for departure in departures.takeEnded(at: .now) { end(departure) }
        var lists = dirty.count
        turns.run { [self] in
            if lists > 0, let conversation = dirty.popFirst() {
                lists -= 1
                dirtySet.remove(conversation)
                publish(conversation)
                return true
            }
            if announceNext() { return true }
            finishRound()
            return false
        }
    }

    private func end(_ departure: Departures.Departure) {
        turns.forEach(departure.conversations) { [weak self] conversation in
            self?.departures.leave(conversation, departure)
            self?.departures.end(departure.user, conversation, lastSeen: departure.lastSeen)
            self?.changed(conversation)
        }
    }

    private func finishRound() {
        isAnnouncing = false
        for (session, rooms) in newcomers { sendOnline(session, rooms) }
        newcomers = []
        turns.forEach(outbox.sessions) { [self] in turns.spend(outbox.sendWaiting(to: $0) / 8) }
        if !(dirty.isEmpty && updates.isEmpty && outbox.isEmpty && departures.isEmpty) { gather() }
    }

    /// The announcement of what changed for one user.
    private struct Announcement {
        let user: UserID
        let isOnline: Bool
        var appearedIn: [ConversationID]
        let appeared: WebSocketFrame
        var goneFrom: [ConversationID]
        let gone: WebSocketFrame
    }

    /// Announces in one conversation. Returns whether there was something to announce.
    private func announceNext() -> Bool {
        // Removed and put back: a second copy would make each step as long as the list.
        guard var current = announcement.take() ?? nextAnnouncement() else { return false }
        if let conversation = current.appearedIn.popLast() {
            announce(current, in: conversation, isThere: true, current.appeared)
        } else if let conversation = current.goneFrom.popLast() {
            announce(current, in: conversation, isThere: false, current.gone)
        } else {
            return true
        }
        announcement = current
        return true
    }

    private func nextAnnouncement() -> Announcement? {
        guard let (user, change) = updates.popFirst() else { return nil }
        mark += 1
        let isOnline = updates.isOnline(user)
        return Announcement(
            user: user, isOnline: isOnline, appearedIn: change.appearedIn, appeared: ServerFrame.presence(user),
            goneFrom: change.goneFrom, gone: ServerFrame.presence(user, lastSeen: isOnline ? nil : change.lastSeen))
    }

    /// Sends the announcement to each session once, and only if it holds there: a user gone from one conversation may
    /// be visible in another.
    private func announce(
        _ announcement: Announcement, in conversation: ConversationID, isThere: Bool, _ frame: WebSocketFrame
    ) {
        guard let room = rooms[conversation], room.presence.contains(announcement.user) == isThere else { return }
        turns.spend(room.feed.count / 8)
        room.feed.forEachSubscriber { session in
            guard session.presenceMark != mark, session.user != announcement.user, session.showsPresence,
                room.hasMember(session),
                isThere || !(announcement.isOnline && sees(session, announcement.user) || room.isNew(session))
            else { return }
            session.presenceMark = mark
            outbox.add(session, announcement.user, frame)
        }
    }

    private func sendOnline(_ session: Session, _ rooms: [Room]) {
        var sent: Set<UserID> = [session.user]
        turns.forEach(rooms) { [self] room in
            room.presence.newcomers.remove(ObjectIdentifier(session))
            guard !session.hasEnded, session.showsPresence, room.showsPresence, room.hasMember(session) else { return }
            for user in room.presence.users where sent.insert(user).inserted {
                outbox.add(session, user, ServerFrame.presence(user))
            }
        }
    }

    /// Returns whether a user is shown to a session in any conversation. Searches the conversations of whichever is in
    /// fewer.
    private func sees(_ session: Session, _ user: UserID) -> Bool {
        let conversations = updates.conversations(of: user)
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
        room.presence.contains(user) && room.showsPresence && room.hasMember(session)
    }
}

extension Room {
    /// Only direct conversations have ids of version 8.
    var isDirect: Bool { conversation.uuid.version == 8 }

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
