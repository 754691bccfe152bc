import Edge
import Models
import Reactor
import Wire

/// What one process knows of who is online, and what it does next: what happened goes in, what is to be done comes out.
/// It has no clock and no bus; `Presence` carries it out.
///
/// Changes are gathered for a moment and then announced in a round: first the lists of conversations, for the other
/// processes, then the changes of users, for the sessions. Rounds do not overlap.
struct PresenceState<Session: AnyObject, Room> {
    /// What the host is to do at the end of an event.
    struct Work: Equatable {
        /// A round begins after the time of gathering: `beginRound`.
        var beginsRound = false
    }

    private let timing: PresenceTiming
    private var updates = PresenceUpdates()
    private var departures = Departures()
    private var outbox = PresenceOutbox<Session>()

    /// Conversations whose list is to be published.
    private var dirty = FIFO<ConversationID>()
    private var dirtySet: Set<ConversationID> = []
    /// Sessions that are to be sent who is online in these of their rooms.
    private var newcomers: [(session: Session, rooms: [Room])] = []

    private var isGathering = false
    private var isAnnouncing = false
    /// Lists that the round has yet to publish. Those that changed meanwhile come with the next one.
    private var listsLeft = 0
    private var pending: Pending?
    private var announcements = 0

    /// Sessions whose users changed their setting within the last second, and the latest setting.
    private var decisions = IdentityTable<Bool>()

    /// Other processes, and the time of their last frame.
    private var processes: [Instance: MonotonicTime] = [:]
    private var beats = 0

    init(timing: PresenceTiming) { self.timing = timing }

    // MARK: Users who are shown

    /// The number of users shown anywhere.
    var onlineCount: Int { updates.onlineCount }

    /// The conversations of this process in which a user is shown.
    func conversations(of user: UserID) -> Set<ConversationID> { updates.conversations(of: user) }

    /// The list of a conversation changed: these users are shown there now, and these no more.
    mutating func changed(_ list: PresenceList, appeared: [UserID], gone: [UserID]) -> Work {
        for user in appeared { updates.appeared(user, in: list.conversation) }
        for user in gone {
            let departure = list.departed.first { $0.user == user }
            updates.gone(user, from: list.conversation, lastSeen: departure?.lastSeen)
        }
        return updates.isEmpty ? Work() : gather()
    }

    mutating func appeared(_ user: UserID, in conversation: ConversationID) -> Work {
        updates.appeared(user, in: conversation)
        return gather()
    }

    mutating func gone(_ user: UserID, from conversation: ConversationID) -> Work {
        updates.gone(user, from: conversation, lastSeen: nil)
        return gather()
    }

    /// Forgets a conversation that has no sessions here any more.
    mutating func forget(_ users: [UserID], in conversation: ConversationID) {
        for user in users { updates.forget(user, in: conversation) }
    }

    // MARK: Lists

    /// Notes that the list of a conversation may have changed, so that it is published.
    mutating func listChanged(_ conversation: ConversationID) -> Work {
        if dirtySet.insert(conversation).inserted { dirty.append(conversation) }
        return gather()
    }

    /// Users who have left a conversation a moment ago and are still shown in it.
    func departing(from conversation: ConversationID) -> [(user: UserID, blocked: [UInt64]?)] {
        departures.users(in: conversation)
    }

    /// Removes and returns the users to be shown as gone from a conversation, for its next list.
    mutating func takeDeparted(from conversation: ConversationID) -> [PresenceList.Departure] {
        Array(departures.takeEnded(in: conversation).prefix(Int(UInt8.max)))
    }

    // MARK: Sessions

    /// Notes a session that is to be sent who is online in these of its rooms.
    mutating func add(newcomer session: Session, in rooms: [Room]) -> Work {
        newcomers.append((session, rooms))
        return gather()
    }

    /// Ends the departure of a user who is back. Call `isBack` for each conversation of the result.
    mutating func cancelDeparture(of user: UserID) -> Departures.Departure? { departures.remove(user) }

    mutating func isBack(in conversation: ConversationID, from departure: Departures.Departure) -> Work {
        departures.leave(conversation, departure)
        return listChanged(conversation)
    }

    /// Begins the departure of a user whose last session ends. Nil: they are shown as gone at once.
    mutating func beginDeparture(
        of user: UserID, blocked: [UInt64]? = [], lastSeen: Timestamp, at now: MonotonicTime
    ) -> (ticket: Departures.Ticket?, work: Work) {
        (departures.begin(user, blocked: blocked, lastSeen: lastSeen, until: now + timing.grace), gather())
    }

    /// A session leaves a conversation. `ticket`: the departure of its user, who leaves with it.
    mutating func left(
        _ conversation: ConversationID, _ user: UserID, isLast: Bool, _ ticket: Departures.Ticket?, lastSeen: Timestamp
    ) -> Work {
        let departs = ticket.map { departures.add(conversation, to: $0, of: user) } ?? false
        if isLast, !departs { departures.end(user, conversation, lastSeen: lastSeen) }
        return listChanged(conversation)
    }

    /// A departure is over in one of its conversations.
    mutating func departed(from conversation: ConversationID, _ departure: Departures.Departure) -> Work {
        departures.leave(conversation, departure)
        departures.end(departure.user, conversation, lastSeen: departure.lastSeen)
        return listChanged(conversation)
    }

    // MARK: Settings

    enum Decision {
        /// Takes effect at once. `decisionIsOver` is to be called after `PresenceTiming.decision`.
        case applies
        /// Nothing changes, or not yet.
        case waits
    }

    /// Handles a user's setting. The first change takes effect at once; of further ones within a second only the last
    /// does, afterwards, because each is work in all of the user's conversations.
    mutating func decide(_ session: Session, shows: Bool, isShown: Bool) -> Decision {
        if decisions.contains(session) {
            decisions.set(session, shows)
            return .waits
        }
        guard isShown != shows else { return .waits }
        decisions.append(session, shows)
        return .applies
    }

    /// Returns the last setting of that time.
    mutating func decisionIsOver(_ session: Session) -> Bool? { decisions.remove(session) }

    // MARK: Other processes

    /// Notes a frame of a process. Returns whether the process is new: it does not know the lists of this one.
    mutating func heard(from process: Instance, at now: MonotonicTime) -> Bool {
        processes.updateValue(now, forKey: process) == nil
    }

    struct Beat {
        /// Processes that were silent for too long, and are forgotten.
        let lost: [Instance]
        /// The slots whose lists are published again now: a part of all at each beat.
        let slots: [Slot]
    }

    mutating func beat(at now: MonotonicTime) -> Beat {
        let lost = processes.filter { now - $0.value >= timing.silence }.map(\.key)
        for process in lost { processes[process] = nil }
        let count = max(1, Int(timing.refresh / timing.heartbeat))
        defer { beats += 1 }
        return Beat(lost: lost, slots: Slot.all.filter { Int($0.number) % count == beats % count })
    }

    // MARK: Rounds

    /// What changed for one user, to be sent to each session once.
    struct Announcement {
        /// A session with this mark already has it.
        let number: Int
        let user: UserID
        let isOnline: Bool
        let appeared: WebSocketFrame
        let gone: WebSocketFrame
    }

    /// An announcement, and the conversations where it has not been made yet.
    private struct Pending {
        let announcement: Announcement
        var appearedIn: [ConversationID]
        var goneFrom: [ConversationID]
    }

    enum Step {
        case publish(ConversationID)
        /// The frame goes to the conversation's sessions if it still holds there.
        case announce(Announcement, ConversationID, isThere: Bool)
    }

    private mutating func gather() -> Work {
        guard !isGathering else { return Work() }
        isGathering = true
        return Work(beginsRound: true)
    }

    /// Begins a round, unless one is under way. Returns the departures that are over; call `departed` for each
    /// conversation of them, at any time.
    mutating func beginRound(at now: MonotonicTime) -> [Departures.Departure]? {
        isGathering = false
        guard !isAnnouncing else { return nil }
        isAnnouncing = true
        let over = departures.takeEnded(at: now)
        listsLeft = dirty.count
        return over
    }

    /// Returns the next step of the round; nil: it is over, and `endRound` is to be called.
    mutating func nextStep() -> Step? {
        if listsLeft > 0, let conversation = dirty.popFirst() {
            listsLeft -= 1
            dirtySet.remove(conversation)
            return .publish(conversation)
        }
        while var current = pending.take() ?? nextAnnouncement() {
            let appearedIn = current.appearedIn.popLast()
            guard let conversation = appearedIn ?? current.goneFrom.popLast() else { continue }
            pending = current
            return .announce(current.announcement, conversation, isThere: appearedIn != nil)
        }
        return nil
    }

    private mutating func nextAnnouncement() -> Pending? {
        guard let (user, change) = updates.popFirst() else { return nil }
        announcements += 1
        let isOnline = updates.isOnline(user)
        return Pending(
            announcement: Announcement(
                number: announcements, user: user, isOnline: isOnline, appeared: ServerFrame.presence(user),
                gone: ServerFrame.presence(user, lastSeen: isOnline ? nil : change.lastSeen)),
            appearedIn: change.appearedIn, goneFrom: change.goneFrom)
    }

    struct End {
        /// Sessions that are to be sent who is online in these rooms.
        let newcomers: [(session: Session, rooms: [Room])]
        /// Sessions with waiting frames: see `takeFrames`.
        let waiting: [Session]
        let work: Work
    }

    /// Ends the round. Another one follows while there is something to announce.
    mutating func endRound() -> End {
        isAnnouncing = false
        let newcomers = newcomers
        self.newcomers = []
        let isIdle = dirty.isEmpty && updates.isEmpty && outbox.isEmpty && departures.isEmpty
        return End(newcomers: newcomers, waiting: outbox.sessions, work: isIdle ? Work() : gather())
    }

    // MARK: Frames

    /// Decides what becomes of a frame about a user for a session.
    mutating func queue(
        _ frame: WebSocketFrame, about user: UserID, for session: Session, isCongested: Bool
    ) -> PresenceOutbox<Session>.Disposition {
        outbox.add(frame, about: user, for: session, isCongested: isCongested)
    }

    /// Removes and returns the frames that waited for a session.
    mutating func takeFrames(for session: Session) -> [WebSocketFrame] { outbox.take(for: session) }
}
