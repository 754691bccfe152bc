import Models
import ParleyStorage

/// Keeps a copy equal to the server's: a state machine without I/O and without a clock.
///
/// Every event gives a `SyncStep`. A cursor moves in the step that writes what it stands for, so the process may end
/// between any two steps: a new machine continues from what is stored.
package struct Synchronizer: Sendable {
    /// How a conversation's changes arrive.
    struct Stream: Sendable {
        /// All changes up to here are in the copy.
        var cursor: Int64
        var statusVersion: Int64
        /// The server knows that the copy reaches here.
        var deliveredSeq: Int64
        /// While changes are paged over HTTP, those from the WebSocket are left to the pages, which bring them too.
        var isPaging = false
        /// The position that the pages must reach.
        var target: Int64 = 0
        /// Pages that brought nothing of what is missing.
        var emptyPages = 0

        init(cursor: Int64, statusVersion: Int64 = 0, deliveredSeq: Int64 = 0) {
            self.cursor = cursor
            self.statusVersion = statusVersion
            self.deliveredSeq = deliveredSeq
        }
    }

    enum Phase: Hashable, Sendable {
        case off
        case needsToken
        case connecting
        /// `hello` is sent.
        case greeting(until: Duration)
        case live
        case pausing(until: Duration)
        /// Until `start`.
        case ended
    }

    // MARK: What is stored, too

    package internal(set) var userId: UserID?
    var logId: UUIDBytes?
    var useq: Int64?
    var syncCursor: String?
    var isListComplete: Bool
    var streams: [ConversationID: Stream] = [:]
    /// The followed conversations, the latest activity first as far as it is known.
    var order: [ConversationID]
    /// Those that `hello` named: the session sends what they missed. The others are paged.
    var greeted: Set<ConversationID> = []
    /// Conversations that the server has to be asked about.
    var unknown: Set<ConversationID>

    /// Their changes while the server is being asked: its response may be older than these.
    var sinceAsked: [ConversationID: [Change]] = [:]

    // MARK: The session

    var phase = Phase.off
    var token: String?
    /// The last `welcome`, to begin anew with after a `reset`.
    var welcome: FrameFromServer.Welcome?
    var hasDiscarded = false
    /// Taken out of the list during this session. Changes of before may still come, and must not bring them back.
    var removed: Set<ConversationID> = []
    var farewell: FrameFromServer.Bye?
    var backoff = Backoff(first: .seconds(1), longest: .seconds(60))
    /// A session that ends at once counts as a failure.
    var stableAt: Duration?
    /// The conversations that the present loading of the list has brought, and those that are new since; nil if none is going on.
    var listed: Set<ConversationID>?
    /// When the first conversation of the list was active last, as the loading began at the list's top.
    var listTop: Timestamp?
    /// As it was when the loading began at the top before this time; nil the first time.
    var earlierListTop: Timestamp?
    var isListAtEnd = false
    var isCatchingUp = false

    // MARK: Receipts

    var undelivered: Set<ConversationID> = []
    var deliverAt: Duration?
    /// By the id of the ping that was sent after them: its `pong` says that they arrived.
    var deliveries: [String: [FrameFromClient.ReceiptPosition]] = [:]

    var requests = RequestQueue()
    var profiles = ProfileQueue()
    var random: SeededGenerator

    /// A larger `hello` could be refused; the remaining conversations are looked after by paging.
    static let greetedConversations = 8_000
    static let welcomePatience = Duration.seconds(30)
    static let stableAfter = Duration.seconds(10)
    /// Receipts that come together are told together.
    static let deliveryDelay = Duration.milliseconds(200)
    static let receiptsPerFrame = 500
    static let emptyPages = 5

    package init(from position: SyncPosition, seed: UInt64) {
        userId = position.userId
        logId = position.logId
        useq = position.useq
        syncCursor = position.syncCursor
        isListComplete = position.isListComplete
        order = position.streams.map(\.id)
        unknown = Set(position.unknown)
        random = SeededGenerator(seed: seed)
        for (id, stream) in position.streams {
            streams[id] = Stream(
                cursor: stream.cursor, statusVersion: stream.statusVersion, deliveredSeq: stream.deliveredSeq)
        }
    }

    // MARK: Events

    package mutating func handle(_ event: SyncEvent, at now: Duration) -> SyncStep {
        var step = SyncStep()
        switch event {
        case .start: start(&step)
        case .stop: stop(&step)
        case .token(let token): take(token, now, &step)
        case .tokenFailed: tokenFailed(now, &step)
        case .otherUser: end(.otherUser, &step)
        case .opened: greet(now, &step)
        case .frame(let frame): take(frame, now, &step)
        case .closed: closed(now, &step)
        case .response(let id, let response): take(response, for: id, now, &step)
        case .created(let id): created(id, now)
        case .time: passTime(now, &step)
        case .look(let id, let place): requests.ask(.history(id, place), first: true)
        case .lookAtMembers(let id): requests.ask(.members(id, after: nil), first: true)
        case .lookAtRevisions(let id, let message): requests.ask(.revisions(id, message), first: true)
        case .lookAtRequests: requests.ask(.requests)
        case .lookAgain(let id): requests.ask(.conversation(id))
        case .show(let users): show(users, at: now)
        case .catchUp: catchUp(&step)
        case .compare(let id): requests.ask(.digest(id, after: 0))
        case .differs(let id, let range): repair(id, range, &step)
        }
        finishList(&step)
        finishCatchingUp(&step)
        askForProfiles(now)
        if phase != .ended { step.requests += requests.next(at: now) }
        return step
    }

    /// When to say `time`; nil: not before something else happens.
    package var wakeAt: Duration? {
        var times = [requests.wakeAt]
        switch phase {
        case .pausing(let until), .greeting(let until): times.append(until)
        case .live: times += [deliverAt, asksForProfiles ? profiles.wakeAt : nil]
        case .off, .needsToken, .connecting, .ended: break
        }
        return times.compactMap(\.self).min()
    }

    private mutating func passTime(_ now: Duration, _ step: inout SyncStep) {
        switch phase {
        case .pausing(let until) where until <= now: start(&step)
        case .greeting(let until) where until <= now:
            step.connection = .close
            closed(now, &step)
        case .live: if let deliverAt, deliverAt <= now { tellDelivered(&step) }
        default: break
        }
        if requests.takeTokenDue(at: now) { step.token = .fresh }
    }

    /// The outbox has created a conversation, or accepted a request. The stream tells of it, too, unless the server was restored
    /// in between. Without a session the next one asks.
    private mutating func created(_ id: ConversationID, _ now: Duration) {
        // Who was nobody's business before can be read now.
        profiles.allChanged(at: now)
        guard streams[id] == nil else { return }
        unknown.insert(id)
        // A request may have been read again just before it was accepted.
        requests.askAgainForConversations(of: id)
        if phase == .live { requests.ask(.conversation(id)) }
    }

    // MARK: What people are called

    /// People are shown. Nothing is asked by that: a time for it is planned.
    package mutating func show(_ users: [UserID], at now: Duration) { profiles.show(users, at: now) }

    /// One request at a time, and only while a session tells of changes.
    private var asksForProfiles: Bool {
        phase == .live && !requests.contains { if case .profiles = $0 { true } else { false } }
    }

    private mutating func askForProfiles(_ now: Duration) {
        guard asksForProfiles else { return }
        let users = profiles.next(at: now)
        if !users.isEmpty { requests.ask(.profiles(users)) }
    }

    // MARK: Bringing a copy up to date without a session

    private mutating func catchUp(_ step: inout SyncStep) {
        isCatchingUp = true
        // A session brings everything by itself.
        guard phase != .live, !isGreeting else { return }
        requests.ask(.sync(since: syncCursor))
    }

    var isGreeting: Bool {
        if case .greeting = phase { true } else { false }
    }

    private mutating func finishCatchingUp(_ step: inout SyncStep) {
        guard isCatchingUp, requests.hasNothingToCatchUp else { return }
        isCatchingUp = false
        step.notices.append(.caughtUp)
    }

    // MARK: Differences

    private mutating func repair(_ id: ConversationID, _ range: ClosedRange<Int64>, _ step: inout SyncStep) {
        step.writes.append(.outdated(id, range))
        requests.askAgainForHistory(of: id)
        requests.ask(.history(id, .after(range.lowerBound - 1)))
    }
}
