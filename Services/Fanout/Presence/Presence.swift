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
    /// Conversations looked at to find out whether a session sees a user who is in very many. Who is found nowhere else is
    /// not told as gone then, and shown until they go offline.
    static let searched = 4_096

    let bus: Bus
    let rooms: Rooms
    let timing: PresenceTiming
    var news = PresenceNews()
    var outbox: PresenceOutbox
    private let streams: PrivateStreams
    private let sessions: SessionTable
    private let counters: Counters
    private let lastSeen: LastSeenSender
    private let turns: Turns
    private var departures = Departures()
    /// Sessions whose users have decided of late whether to be shown, and what they want now.
    private var decisions = IdentityTable<Bool>()
    /// Conversations whose list is to be told.
    private var dirty = FIFO<ConversationID>()
    private var dirtySet: Set<ConversationID> = []
    /// Sessions that are to be told who is online in these of their rooms.
    private var newcomers: [(session: Session, rooms: [Room])] = []
    private var isGathering = false
    private var isTelling = false
    private var telling: Telling?
    /// Other processes, and when each was last heard.
    private var processes: [Instance: MonotonicTime] = [:]
    private var heartbeats = 0
    /// Counts the users that were told of: a session with this number has been told of the present one.
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
        lastSeen.onAnswer = { [unowned self, turns] session, departures in
            turns.forEach(departures) { [weak self] in self?.tell(session, $0) }
        }
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

    /// A session is in one more of its rooms.
    func placed(_ session: Session, _ room: Room) { if session.showsPresence { changed(room.conversation) } }

    /// A session is in all of its rooms.
    func started(_ session: Session) {
        if let departure = departures.remove(session.user) {
            turns.forEach(departure.conversations) { [self] conversation in
                departures.leave(conversation, departure)
                changed(conversation)
            }
        }
        guard session.showsPresence else { return }
        greetLater(session, Array(session.rooms.values))
        // Later: who is online is known by then.
        Reactor.after(timing.gathering * 5) { [weak self] in self?.tellWhenPeersWereSeen(session) }
    }

    private func greetLater(_ session: Session, _ rooms: [Room]) {
        newcomers.append((session, rooms))
        gather()
    }

    private func tellWhenPeersWereSeen(_ session: Session) {
        guard !session.isLeaving, session.rooms.values.contains(where: \.isDirect) else { return }
        lastSeen.askOfPeers(session)
    }

    private func tell(_ session: Session, _ departure: PresenceList.Departure) {
        guard !session.hasEnded, session.showsPresence, !sees(session, departure.user) else { return }
        outbox.tell(session, departure.user, ServerFrame.presence(departure.user, lastSeen: departure.lastSeen))
    }

    /// How a session leaves its rooms.
    struct Leaving {
        fileprivate let isLast: Bool
        fileprivate let ticket: Departures.Ticket?
    }

    /// A session is going to leave its rooms. `isLast`: its user has no other one that is in its rooms.
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
        greetLater(session, [room])
    }

    /// The session's user is no member any more.
    private func left(_ session: Session, _ room: Room) {
        guard session.showsPresence else { return }
        changed(room.conversation)
        for user in room.presence.users where user != session.user && !sees(session, user) {
            outbox.tell(session, user, ServerFrame.presence(user, lastSeen: nil))
        }
    }

    /// The first decision holds at once. Of those that come within a second of it the last one does, when that is over:
    /// each is work in all of the user's conversations, and costs them a word.
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

    /// Somebody may have come to, or gone from, the list of a conversation.
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
        for user in room.presence.users { news.forget(user, in: room.conversation) }
    }

    // MARK: Other processes

    func hear(_ process: Instance) {
        guard processes.updateValue(.now, forKey: process) == nil else { return }
        // It knows nothing yet of what is shown here.
        turns.forEach(Slot.all) { [weak self] in self?.changed(in: $0) { _ in true } }
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

    /// Tells everything again, a part of the slots at each heartbeat.
    private func refresh() {
        let beats = max(1, Int(timing.refresh / timing.heartbeat))
        let slots = Slot.all.filter { Int($0.number) % beats == heartbeats % beats }
        turns.forEach(slots) { [weak self] slot in
            guard let self else { return }
            changed(in: slot) { !$0.presence.list(of: self.bus.instance).isEmpty }
        }
        heartbeats += 1
    }

    private func tellWhoIsSeen() {
        turns.forEach(sessions.all) { [lastSeen] in if $0.showsPresence { lastSeen.seen($0.user) } }
    }

    // MARK: Telling

    private func gather() {
        guard !isGathering else { return }
        isGathering = true
        Reactor.after(timing.gathering) { [weak self] in self?.tellNews() }
    }

    /// One round after the other, each over as many turns as it takes.
    private func tellNews() {
        isGathering = false
        guard !isTelling else { return }
        isTelling = true
        for departure in departures.takeEnded(at: .now) { end(departure) }
        var lists = dirty.count
        turns.run { [self] in
            if lists > 0, let conversation = dirty.popFirst() {
                lists -= 1
                dirtySet.remove(conversation)
                publish(conversation)
                return true
            }
            if tellNext() { return true }
            finishTelling()
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

    private func finishTelling() {
        isTelling = false
        for (session, rooms) in newcomers { greet(session, rooms) }
        newcomers = []
        turns.forEach(outbox.sessions) { [self] in turns.spend(outbox.sendWaiting(to: $0) / 8) }
        if !(dirty.isEmpty && news.isEmpty && outbox.isEmpty && departures.isEmpty) { gather() }
    }

    /// What is being told of one user.
    private struct Telling {
        let user: UserID
        let isOnline: Bool
        var appearedIn: [ConversationID]
        let appeared: WebSocketFrame
        var goneFrom: [ConversationID]
        let gone: WebSocketFrame
    }

    /// Returns whether there was something to tell.
    private func tellNext() -> Bool {
        // Taken out and put back: a second copy would make each step as long as the list.
        guard var current = telling.take() ?? nextTelling() else { return false }
        if let conversation = current.appearedIn.popLast() {
            tell(current, in: conversation, isThere: true, current.appeared)
        } else if let conversation = current.goneFrom.popLast() {
            tell(current, in: conversation, isThere: false, current.gone)
        } else {
            return true
        }
        telling = current
        return true
    }

    private func nextTelling() -> Telling? {
        guard let (user, change) = news.popFirst() else { return nil }
        mark += 1
        let isOnline = news.isOnline(user)
        return Telling(
            user: user, isOnline: isOnline, appearedIn: change.appearedIn, appeared: ServerFrame.presence(user),
            goneFrom: change.goneFrom, gone: ServerFrame.presence(user, lastSeen: isOnline ? nil : change.lastSeen))
    }

    /// Each session once, and only of what holds for it: who is gone from one conversation may be seen in another one.
    private func tell(_ telling: Telling, in conversation: ConversationID, isThere: Bool, _ frame: WebSocketFrame) {
        guard let room = rooms[conversation], room.presence.contains(telling.user) == isThere else { return }
        turns.spend(room.feed.count / 8)
        room.feed.forEachSubscriber { session in
            guard session.presenceMark != mark, session.user != telling.user, session.showsPresence,
                room.hasMember(session),
                isThere || !(telling.isOnline && sees(session, telling.user) || room.isNew(session))
            else { return }
            session.presenceMark = mark
            outbox.tell(session, telling.user, frame)
        }
    }

    private func greet(_ session: Session, _ rooms: [Room]) {
        var told: Set<UserID> = [session.user]
        turns.forEach(rooms) { [self] room in
            room.presence.newcomers.remove(ObjectIdentifier(session))
            guard !session.hasEnded, session.showsPresence, room.showsPresence, room.hasMember(session) else { return }
            for user in room.presence.users where told.insert(user).inserted {
                outbox.tell(session, user, ServerFrame.presence(user))
            }
        }
    }

    /// Whether a user is shown to a session, wherever: looked for where either of them is in fewer conversations.
    private func sees(_ session: Session, _ user: UserID) -> Bool {
        let places = news.conversations(of: user)
        guard !places.isEmpty else { return false }
        turns.spend(min(places.count, session.rooms.count, Self.searched) / 16)
        if session.rooms.count < places.count {
            return session.rooms.values.prefix(Self.searched).contains { shows(user, in: $0, to: session) }
                || session.rooms.count > Self.searched
        }
        let isFound = places.prefix(Self.searched).contains { conversation in
            rooms[conversation].map { session.isIn($0) && shows(user, in: $0, to: session) } ?? false
        }
        return isFound || places.count > Self.searched
    }

    private func shows(_ user: UserID, in room: Room, to session: Session) -> Bool {
        room.presence.contains(user) && room.showsPresence && room.hasMember(session)
    }
}

extension Room {
    /// Direct conversations alone have ids of version 8.
    var isDirect: Bool { conversation.uuid.version == 8 }

    /// Whether its members see each other online.
    var showsPresence: Bool { isDirect || (1...ContractLimits.namedMembers).contains(memberCount) }

    /// Whether the session has joined, and has not been told yet who is here.
    func isNew(_ session: Session) -> Bool { presence.newcomers.contains(ObjectIdentifier(session)) }

    /// A former member may still be here, to catch up.
    func hasMember(_ session: Session) -> Bool { session.windows.isMember(of: conversation) }
}

extension Timestamp {
    /// The minute that is running: presence is not told more exactly.
    static var thisMinute: Timestamp {
        let now = Timestamp.now.milliseconds
        return Timestamp(milliseconds: now - now % 60_000)
    }
}
