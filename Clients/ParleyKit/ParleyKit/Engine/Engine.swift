import Foundation
import Models
import ParleyStorage
import ParleySync

/// Owns a user's copy for writing, and keeps it equal to the server's.
///
/// `Synchronizer` and `OutboxSender` decide; this carries out: it stores what a step writes in one transaction, and only
/// then does the rest. If storing fails, nothing of the rest happens, both begin anew from what is stored, and the
/// problem is reported.
package actor Engine {
    var store: LocalStore?
    let server: any Server
    let clock: any EngineClock
    let hub: Hub
    private let provideToken: @Sendable () async throws -> String
    var sync: Synchronizer
    var sender: OutboxSender
    var uploader: UploadSender
    var identifiers = NewIdentifiers()
    var random: SeededGenerator

    /// Requests and timers of before a failure of the database do not count.
    var incarnation = 0
    private var isConnected = false
    /// Those who wait for the copy to be brought up to date.
    var catchingUp: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastCatchUp = 0
    private var isCaughtUp = false

    // MARK: The token

    var token: String?
    private var tokenTask: Task<Void, Never>?
    private var tokenBackoff = Backoff(first: .seconds(1), longest: .seconds(60))
    /// The token has not been of use since it was given.
    private var isTokenUnproven = false
    private var askForTokenAt: Duration?
    private var waitingForToken: [CheckedContinuation<Void, Never>] = []
    /// It is certain that what was written in the copy may be sent with the token: the token names the user, or a session
    /// has. Before the first session it is nobody's copy yet.
    var isTokenOfUser = false
    /// The application gave another user's token: nothing is asked or sent until it connects again.
    private var hasTokenOfOther = false

    // MARK: The session

    var session: SessionTasks?
    var lastSession = 0
    static let openingPatience = Duration.seconds(30)

    // MARK: Requests

    var calls: [Int: Task<Void, Never>] = [:]
    var lastCall = 0
    var isPumpPlanned = false
    /// What somebody looks at while nothing may be asked.
    private var lookedAt: Set<Look> = []

    // MARK: Files

    let folder: FileFolder
    var loads: [FileKey: Task<Result<URL, ParleyError>, Never>] = [:]
    var hasAskedForLimits = false

    // MARK: What passes

    var typing = TypingUsers()
    var dataVersion: Int64

    // MARK: Time

    private var timer: Task<Void, Never>?
    private(set) var wakeAt: Duration?
    private var storageBackoff = Backoff(first: .seconds(1), longest: .seconds(60))
    /// The database failed: nothing is done until then.
    private var restartAt: Duration?
    /// The next end of a mute. What lists and badges show is different from then on, although nothing is stored.
    private var endOfMute: (time: Timestamp, at: Duration)?
    /// When to look next for messages whose time is over.
    private var nextLookForExpired = Duration.zero
    private static let expiryInterval = Duration.seconds(15)
    /// The requests that are shown, and when they are read again.
    private var shown: [Look] = []
    private var lookAgainAt: Duration?
    private static let pauseBetweenLooks = Duration.seconds(10)

    init(
        path: String, server: any Server, clock: any EngineClock, hub: Hub, seed: UInt64,
        fileBytes: Int64, token: @escaping @Sendable () async throws -> String
    ) throws(StorageError) {
        let opened = try LocalStore.open(path: path)
        if let file = opened.setAside { hub.report(.setAside(file: file, salvaged: opened.salvaged)) }
        var random = SeededGenerator(seed: seed)
        sync = Synchronizer(from: try opened.store.syncPosition(), seed: random.next())
        sender = OutboxSender(seed: random.next())
        uploader = UploadSender(seed: random.next())
        folder = opened.store.files
        // On a full disk everything but files works.
        try? folder.create()
        opened.store.mostFileBytes = fileBytes
        dataVersion = try opened.store.connection.dataVersion()
        store = opened.store
        self.random = random
        self.server = server
        self.clock = clock
        self.hub = hub
        provideToken = token
    }

    // MARK: On and off

    /// Whether anything may be sent.
    var isActive: Bool {
        store != nil && restartAt == nil && !hasTokenOfOther && (isConnected || !catchingUp.isEmpty)
    }

    func connect() {
        guard store != nil else { return }
        isConnected = true
        hasTokenOfOther = false
        activate()
        handle([.start])
        sender.resume()
        uploader.resume()
        pump()
    }

    func disconnect() {
        guard isConnected else { return }
        isConnected = false
        sender.turnsAway()
        handle([.stop])
        if !isActive { cancelCalls() }
    }

    /// Brings the copy up to date, and sends what waits, once.
    func catchUp() async {
        guard store != nil, !hasTokenOfOther else { return }
        lastCatchUp += 1
        let number = lastCatchUp
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume() }
                catchingUp[number] = continuation
                sender.turnsAway()
                activate()
                handle([.catchUp])
                pump()
            }
        } onCancel: {
            Task { await self.endCatchUp(number) }
        }
    }

    private func endCatchUp(_ number: Int) { catchingUp.removeValue(forKey: number)?.resume() }

    /// Ends it when the copy is up to date and the outbox has nothing that could be sent now.
    func finishCatchUps() { if isCaughtUp { endCatchUps() } }

    private func endCatchUps() {
        let waiting = catchingUp
        catchingUp = [:]
        isCaughtUp = false
        for continuation in waiting.values { continuation.resume() }
    }

    private func activate() {
        let looks = lookedAt
        lookedAt = []
        if !looks.isEmpty { handle(looks.map(\.event)) }
    }

    /// Somebody looks at something that is not in the copy.
    func look(_ look: Look) {
        if isActive { handle([look.event]) } else { lookedAt.insert(look) }
    }

    /// A request, or the list of requests, is on the screen. No session tells what is written there, so it is read again a little
    /// later; whoever still shows it then says so again.
    func shows(_ look: Look) {
        guard store != nil else { return }
        if !shown.contains(look) { shown.append(look) }
        if lookAgainAt == nil { lookAgainAt = clock.now + Self.pauseBetweenLooks }
        scheduleWake()
    }

    private func lookAgainAtShown() {
        let looks = shown
        (shown, lookAgainAt) = ([], nil)
        for look in looks { self.look(look) }
    }

    /// People are on the screen: their profiles are asked for when that is due, as long as there is a session.
    func show(_ users: Set<UserID>) {
        guard store != nil, !users.isEmpty else { return }
        sync.show(users.sorted(), at: clock.now)
        scheduleWake()
    }

    func close() {
        guard store != nil else { return }
        disconnect()
        endCatchUps()
        cancelCalls()
        for load in loads.values { load.cancel() }
        closeSession()
        timer?.cancel()
        tokenTask?.cancel()
        tellTokenWaiters()
        store = nil
        hub.finish()
    }

    // MARK: Synchronisation

    func handle(_ events: [SyncEvent]) {
        guard let store, restartAt == nil else { return }
        let now = clock.now
        let steps = events.map { sync.handle($0, at: now) }
        let writes = steps.flatMap(\.writes)
        do throws(StorageError) {
            try store.apply(writes)
        } catch {
            return fail(error)
        }
        if !writes.isEmpty {
            storageBackoff.succeeded()
            // A deletion takes the files along.
            removeOrphans()
        }
        // Responses on their way may be of a history that is gone.
        if steps.contains(where: \.discards) { sender.restart() }
        hub.raise(writes.topics)
        let current = incarnation
        for step in steps where incarnation == current { carryOut(step) }
        // An echo may have set later rows of the outbox free, the end of a draft another one.
        if writes.contains(where: \.isChange) { planPump() }
        scheduleWake()
    }

    private func carryOut(_ step: SyncStep) {
        switch step.connection {
        case .open: openSession()
        case .close: closeSession()
        case nil: break
        }
        for frame in step.frames { session?.send(frame) }
        for (id, call) in step.requests { request(id, call) }
        if let need = step.token { needToken(isFresh: need == .fresh) }
        for notice in step.notices { take(notice) }
    }

    private func take(_ notice: SyncNotice) {
        switch notice {
        case .connection(let state): take(state)
        case .typing(let typing): take(typing)
        case .presence(let presence):
            hub.set(Presence(isOnline: presence.online, lastSeen: presence.lastSeen), of: presence.userId)
        case .caughtUp:
            isCaughtUp = true
            sender.caughtUp()
            planPump()
        case .digest(let id, let digest): compare(digest, of: id)
        }
    }

    private func take(_ state: ConnectionState) {
        hub.set(state)
        sender.connected(state == .online, at: clock.now)
        if state == .otherUser { return endForOther() }
        guard state == .online else { return }
        isTokenOfUser = true
        proveToken()
        // The network is back.
        sender.resume()
        uploader.resume()
        learnLimits()
        planPump()
    }

    // MARK: Failures of the database

    /// Forgets everything that is not stored, and begins again a little later.
    func fail(_ error: StorageError) {
        hub.report(.storage(error))
        incarnation += 1
        closeSession()
        cancelCalls()
        hub.set(isConnected ? .waiting : .off)
        restartAt = clock.now + storageBackoff.pause(using: &random)
        scheduleWake()
    }

    private func restart() {
        guard let store else { return }
        do throws(StorageError) {
            sync = Synchronizer(from: try store.syncPosition(), seed: random.next())
            sender = OutboxSender(seed: random.next())
            uploader = UploadSender(seed: random.next())
            restartAt = nil
            hasTokenOfOther = false
        } catch {
            return fail(error)
        }
        hub.raise([.everything])
        if isConnected { handle([.start]) }
        if !catchingUp.isEmpty { handle([.catchUp]) }
        pump()
    }

    // MARK: The token

    func needToken(isFresh: Bool) {
        if !isFresh, let token { return handle([.token(token)]) }
        guard !hasTokenOfOther, tokenTask == nil, askForTokenAt == nil else { return }
        // A server that refuses fresh tokens must not be asked without a pause.
        if isTokenUnproven { askForToken(later: true) } else { askForToken(later: false) }
    }

    private func askForToken(later: Bool) {
        if later {
            askForTokenAt = clock.now + tokenBackoff.pause(using: &random)
            return scheduleWake()
        }
        askForTokenAt = nil
        tokenTask = Task { [provideToken] in
            do {
                self.take(token: try await provideToken())
            } catch {
                self.takeNoToken(error)
            }
        }
    }

    /// Waits for the token that is being asked for. Whether there is one then is another question.
    func waitForToken() async {
        guard tokenTask != nil else { return }
        await withCheckedContinuation { waitingForToken.append($0) }
    }

    private func tellTokenWaiters() {
        let waiting = waitingForToken
        waitingForToken = []
        for continuation in waiting { continuation.resume() }
    }

    private func take(token fresh: String) {
        tokenTask = nil
        defer { tellTokenWaiters() }
        guard store != nil else { return }
        let name = TokenUser.name(in: fresh)
        if let name, let user = sync.userId, name != user.name { return handle([.otherUser]) }
        token = fresh
        // One that does not say whose it is may be given to the session that there is, which goes on only if it is the same user's.
        isTokenOfUser = name != nil || sync.userId == nil || isTokenOfUser && session != nil
        isTokenUnproven = true
        sender.tokenArrived()
        uploader.tokenArrived()
        handle([.token(fresh)])
        pump()
    }

    /// The copy, and what waits in it, stays as it is.
    private func endForOther() {
        hasTokenOfOther = true
        isTokenOfUser = false
        token = nil
        askForTokenAt = nil
        cancelCalls()
        endCatchUps()
    }

    private func takeNoToken(_ error: any Error) {
        tokenTask = nil
        defer { tellTokenWaiters() }
        guard store != nil else { return }
        hub.report(.noToken(error))
        askForToken(later: true)
        handle([.tokenFailed])
    }

    /// The server has accepted the token.
    func proveToken() {
        isTokenUnproven = false
        tokenBackoff.succeeded()
    }

    // MARK: Time

    func scheduleWake() {
        let maySend = isActive && token != nil && isTokenOfUser
        let times = [
            restartAt, askForTokenAt, session?.openBy, typing.nextEnd, isActive ? sync.wakeAt : nil,
            maySend ? sender.wakeAt : nil, maySend ? uploader.wakeAt : nil, nextEndOfMute(), lookAgainAt, nextExpiry(),
        ]
        let next = times.compactMap(\.self).min()
        guard next != wakeAt else { return }
        timer?.cancel()
        wakeAt = next
        timer = next.map { time in
            Task { [clock] in
                let isDue: Void? = try? await clock.sleep(for: max(.zero, time - clock.now))
                if isDue != nil { self.wake(time) }
            }
        }
    }

    private func nextEndOfMute() -> Duration? {
        let now = clock.timestamp
        let end = (try? store?.endOfMute(after: now)) ?? nil
        if endOfMute?.time != end {
            endOfMute = end.map { ($0, clock.now + .milliseconds($0.milliseconds - now.milliseconds)) }
        }
        return endOfMute?.at
    }

    /// Messages whose time is over are looked for from time to time, as long as there may be any.
    private func nextExpiry() -> Duration? {
        (try? store?.hasLifetimes()) ?? false ? nextLookForExpired : nil
    }

    private func expireMessages() {
        nextLookForExpired = clock.now + Self.expiryInterval
        if (try? store?.expireMessages(at: clock.timestamp)) ?? false { hub.raise([.everything]) }
    }

    private func wake(_ time: Duration) {
        guard time == wakeAt, store != nil else { return }
        wakeAt = nil
        let now = clock.now
        endTyping(at: now)
        if let lookAgainAt, lookAgainAt <= now { lookAgainAtShown() }
        if let endOfMute, endOfMute.at <= now { hub.raise([.everything]) }
        if let next = nextExpiry(), next <= now { expireMessages() }
        if let restartAt { return restartAt <= now ? restart() : scheduleWake() }
        if let askForTokenAt, askForTokenAt <= now { askForToken(later: false) }
        if let openBy = session?.openBy, openBy <= now { sessionEnded(lastSession) }
        handle([.time])
        pump()
        scheduleWake()
    }
}

/// Something that is not in the copy and that somebody wants to see.
enum Look: Hashable, Sendable {
    case history(ConversationID, HistoryPlace)
    case members(ConversationID)
    case revisions(ConversationID, MessageID)
    case requests
    case again(ConversationID)

    var event: SyncEvent {
        switch self {
        case .history(let id, let place): .look(id, place)
        case .members(let id): .lookAtMembers(id)
        case .revisions(let id, let message): .lookAtRevisions(id, message)
        case .requests: .lookAtRequests
        case .again(let id): .lookAgain(id)
        }
    }
}

extension SyncWrite {
    fileprivate var isChange: Bool {
        switch self {
        case .change: true
        case .privateChange(let change): change.kind == .draft
        default: false
        }
    }
}
