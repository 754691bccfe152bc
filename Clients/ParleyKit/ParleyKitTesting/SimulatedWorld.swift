import Models
import ParleyStorage
import ParleySync

/// Devices, a network and a server by one seed: requests and frames are late or lost, connections break, tokens expire,
/// the server is overloaded, and processes end between any two transactions and begin again.
package final class SimulatedWorld {
    package var server: ScriptedServer
    package private(set) var devices: [SimulatedDevice] = []
    package var random: SeededGenerator
    /// While false, everything arrives.
    package var hasFaults = true
    /// What is wrong with the devices of this run.
    package var flaw: Flaw?
    /// Told what every device does, for the one who looks for the reason of a failure.
    package var trace: ((String) -> Void)?
    package private(set) var now = Duration.zero
    /// What is due, the next last.
    private var events: [(at: Duration, body: () throws -> Void)] = []

    private let stores: StorePool

    package init(seed: UInt64, stores: StorePool = StorePool()) {
        self.stores = stores
        random = SeededGenerator(seed: seed)
        server = ScriptedServer(logId: UUIDBytes(high: 1, low: seed))
    }

    package func addDevice(of user: UserID) throws -> SimulatedDevice {
        let device = try SimulatedDevice(user: user, number: devices.count, store: stores.take(), world: self)
        devices.append(device)
        return device
    }

    /// Ends all devices, so that their databases are of use to another world.
    package func end() throws {
        for device in devices { try stores.put(device.store) }
        devices = []
        events = []
    }

    // MARK: Time

    func after(_ delay: Duration, _ body: @escaping () throws -> Void) {
        let at = now + delay
        let place = events.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
        events.insert((at, body), at: place)
    }

    /// Runs what is due within a time.
    package func run(for duration: Duration) throws {
        let end = now + duration
        while let event = events.last, event.at <= end {
            events.removeLast()
            server.passTime((event.at - now).milliseconds)
            now = max(now, event.at)
            try event.body()
            announce()
        }
        server.passTime((end - now).milliseconds)
        now = end
    }

    package func announce() {
        let announcements = server.announcements
        server.announcements = []
        for announcement in announcements {
            for device in devices where device.user == announcement.user { device.push(announcement.frame) }
        }
    }

    // MARK: Chance

    package func happens(_ percent: Int) -> Bool { hasFaults && Int.random(in: 0..<100, using: &random) < percent }

    func delay(_ milliseconds: ClosedRange<Int>) -> Duration {
        .milliseconds(Int.random(in: milliseconds, using: &random))
    }

    package func uuid() -> UUIDBytes {
        UUIDBytes(high: random.next() & ~0xF000 | 0x4000, low: random.next() >> 2 | 1 << 63)
    }

    // MARK: The server's disasters

    /// The server's database is restored to an earlier state.
    package func restore(_ earlier: ScriptedServer) {
        let clock = server.now.milliseconds
        server = earlier
        server.logId = uuid()
        server.announcements = []
        server.passTime(max(0, clock - server.now.milliseconds) + 1_000)
        for device in devices { device.breakConnection() }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

/// One device of a user: a database in memory, and the machines, which a `kill` takes away. Nothing of the database is lost
/// with them: the end of a process falls between two transactions.
package final class SimulatedDevice {
    package let user: UserID
    package let store: LocalStore
    package private(set) var isOnline = false
    package private(set) var hasCaughtUp = false
    package private(set) var kills = 0
    /// Parts of conversations in which a member's copy differed from the server's: synchronisation missed something.
    package private(set) var differences = 0
    private let name: String
    private unowned let world: SimulatedWorld
    private var sync: Synchronizer
    private var sender: OutboxSender
    /// What belongs to an earlier process, or an earlier connection, does not reach this one.
    private var process = 0
    private var connection = 0
    private var hasSession = false
    private var lastArrival = Duration.zero
    private var lastDeparture = Duration.zero
    private var wakeAt: Duration?

    init(user: UserID, number: Int, store: LocalStore, world: SimulatedWorld) throws {
        self.user = user
        name = "\(user) \(number)"
        self.world = world
        self.store = store
        sync = Synchronizer(from: try store.syncPosition(), seed: world.random.next())
        sender = OutboxSender(seed: world.random.next())
    }

    // MARK: The process

    package func start() throws { try handle(.start) }

    package func catchUp() throws {
        hasCaughtUp = false
        try handle(.catchUp)
    }

    package func look(_ id: ConversationID, _ place: HistoryPlace) throws { try handle(.look(id, place)) }

    /// The user looks at what they are asked about: if it is not known, and at a request itself as it is now.
    package func lookAtRequests() throws {
        if try !store.hasRequests() { try handle(.lookAtRequests) }
    }

    package func lookAgain(_ id: ConversationID) throws { try handle(.lookAgain(id)) }

    package func show(_ users: [UserID]) throws { try handle(.show(users)) }

    package func compare(_ id: ConversationID) throws { try handle(.compare(id)) }

    /// Ends the process at once, and starts it again: only what was committed is left.
    package func kill() throws {
        kills += 1
        world.trace?("\(world.now) \(name): killed")
        process += 1
        breakConnection()
        if world.flaw == .forgetsWhatWaitsAtItsEnd {
            try store.connection.execute("DELETE FROM outbox WHERE was_tried = 1 AND state = 0")
        }
        sync = Synchronizer(from: try store.syncPosition(), seed: world.random.next())
        sender = OutboxSender(seed: world.random.next())
        wakeAt = nil
        let current = process
        world.after(world.delay(1...3_000)) { [self] in
            guard process == current else { return }
            try start()
            try pump()
        }
    }

    /// The connection ends; the device learns of it later.
    package func breakConnection() {
        connection += 1
        hasSession = false
        let (process, connection) = (process, connection)
        world.after(world.delay(0...500)) { [self] in
            guard process == self.process, connection == self.connection else { return }
            try handle(.closed)
        }
    }

    /// The user did something.
    package func write(
        _ write: PendingWrite, in conversation: ConversationID?, message: MessageID? = nil
    ) throws {
        world.trace?("\(world.now) \(name): writes \(write)")
        try store.enqueue(write, in: conversation, message: message, at: world.server.now, key: world.uuid())
        try pump()
    }

    /// The user writes, or has sent or given up what they wrote.
    package func setDraft(_ draft: Draft?, in id: ConversationID) throws {
        world.trace?("\(world.now) \(name): drafts \(draft?.text ?? "nothing") in \(id)")
        if draft == nil { sender.turnsAway(from: id) } else { sender.writes(in: id, at: world.now) }
        try store.setDraft(draft, in: id, at: world.server.now, key: world.uuid())
        try pump()
    }

    package func turnAway(from id: ConversationID) throws {
        sender.turnsAway(from: id)
        try pump()
    }

    package func retry(_ message: MessageID, in conversation: ConversationID) throws {
        try store.retry(message, in: conversation, newId: MessageID(world.uuid()))
        try pump()
    }

    // MARK: Synchronisation

    private func handle(_ event: SyncEvent) throws {
        let step = sync.handle(event, at: world.now)
        world.trace?("\(world.now) \(name): \(event) -> \(step.writes)")
        if world.happens(2) { return try kill() }
        if world.flaw == .takesOverWhatIsWritten, step.writes.contains(where: \.isDraft) {
            try store.connection.execute("DELETE FROM outbox WHERE kind = 'draft'")
        }
        try store.apply(world.flaw?.alter(step.writes, using: &world.random) ?? step.writes)
        if world.happens(2) { return try kill() }
        if step.discards { sender.restart() }
        try carryOut(step)
        scheduleWake()
        // An echo may have set later rows free, the end of a draft another one.
        if step.writes.contains(where: { if case .change = $0 { true } else { $0.isDraft } }) { try pump() }
    }

    private func carryOut(_ step: SyncStep) throws {
        switch step.connection {
        case .open: open()
        case .close:
            connection += 1
            hasSession = false
        case nil: break
        }
        for frame in step.frames { send(frame) }
        for (id, call) in step.requests { request(id, call) }
        if let need = step.token { fetchToken(isFresh: need == .fresh) }
        for notice in step.notices { try take(notice) }
    }

    private func take(_ notice: SyncNotice) throws {
        switch notice {
        case .connection(let state):
            isOnline = state == .online
            sender.connected(isOnline, at: world.now)
        case .caughtUp:
            hasCaughtUp = true
            sender.caughtUp()
        case .digest(let id, let digest):
            for page in digest.pages
            where try store.compare(page, of: id, lastSeq: digest.lastSeq, useq: digest.useq) == .different {
                if world.server.isMember(user, id) { differences += 1 }
                try handle(.differs(id, page.fromSeq...page.toSeq))
            }
        case .typing, .presence: break
        }
    }

    private func scheduleWake() {
        guard let time = [sync.wakeAt, sender.wakeAt].compactMap(\.self).min(), time != wakeAt else { return }
        wakeAt = time
        let current = process
        world.after(max(.zero, time - world.now)) { [self] in
            guard process == current, wakeAt == time else { return }
            wakeAt = nil
            try handle(.time)
            guard process == current else { return }
            try pump()
            scheduleWake()
        }
    }

    private func fetchToken(isFresh: Bool) {
        let current = process
        let fails = world.happens(10)
        world.after(world.delay(1...300)) { [self] in
            guard process == current else { return }
            sender.tokenArrived()
            try handle(fails ? .tokenFailed : .token("token"))
            guard process == current else { return }
            try pump()
        }
    }

    // MARK: The WebSocket

    private func open() {
        connection += 1
        hasSession = false
        let (process, connection) = (process, connection)
        let fails = world.happens(15)
        world.after(world.delay(1...400)) { [self] in
            guard process == self.process, connection == self.connection else { return }
            try handle(fails ? .closed : .opened)
        }
    }

    private func send(_ frame: FrameFromClient) {
        lastDeparture = max(lastDeparture, world.now + world.delay(1...100))
        let connection = connection
        world.after(lastDeparture - world.now) { [self] in
            guard connection == self.connection else { return }
            switch frame {
            case .hello(let hello):
                for frame in world.server.begin(hello, for: user) { arrive(frame) }
                hasSession = true
            case .delivered(let positions):
                for position in positions {
                    world.server.delivered(position.seq, in: position.conversationId, by: user)
                }
            case .ping(let id): push(.pong(id: id))
            case .read, .typing, .auth: break
            }
        }
    }

    /// The server sends something to this session, if there is one.
    func push(_ frame: FrameFromServer) {
        guard hasSession else { return }
        if world.happens(2) {
            arrive(.bye(.init(code: world.happens(30) ? .unauthenticated : .draining, reason: "", retryAfter: 1)))
            return breakConnection()
        }
        arrive(frame)
        if world.happens(1) { arrive(.tokenExpiring(at: world.server.now)) }
        if world.happens(1) { arrive(.unknown(type: "later")) }
        if world.happens(3) { breakConnection() }
    }

    private func arrive(_ frame: FrameFromServer) {
        lastArrival = max(lastArrival, world.now + world.delay(1...200))
        let (process, connection) = (process, connection)
        if world.flaw == .ignoresRenames, case .profile = frame { return }
        world.after(lastArrival - world.now) { [self] in
            guard process == self.process, connection == self.connection else { return }
            try handle(.frame(frame))
        }
    }

    // MARK: HTTP

    private func request(_ id: Int, _ call: SyncCall) {
        let call = store.completed(call)
        let current = process
        var response = SyncResponse.failure(fault ?? .lost)
        let isLost = world.happens(8)
        let isRefused = world.happens(8)
        world.after(world.delay(1...300)) { [self] in
            if !isLost, !isRefused { response = world.server.response(to: call, for: user) }
            if !isLost, world.happens(5) { response = .failure(.lost) }
            world.after(world.delay(1...500)) { [self] in
                guard process == current else { return }
                try handle(.response(id, response))
            }
        }
    }

    /// A temporary refusal by chance.
    private var fault: CallFailure? {
        let codes: [Problem.Code] = [.rateLimited, .overloaded, .unavailable, .unauthenticated]
        guard let code = codes.randomElement(using: &world.random), world.happens(50) else { return nil }
        return .refused(ProblemDetails(Problem(code, "")), retryAfter: code == .unauthenticated ? nil : .seconds(1))
    }

    // MARK: The outbox

    package func pump() throws {
        guard sender.isReady(at: world.now) else { return scheduleWake() }
        let calls = sender.plan(try store.sendable(limit: OutboxSender.rowsToPlan), at: world.now)
        if calls.isEmpty { return scheduleWake() }
        if world.happens(2) { return try kill() }
        if world.flaw != .sendsBeforeItNotes { try store.markTried(calls.flatMap(\.call.rows).map(\.key)) }
        if world.happens(2) { return try kill() }
        for (id, call) in calls { submit(id, call) }
    }

    private func submit(_ id: Int, _ call: OutboxCall) {
        let current = process
        let fault = fault
        let fate = world.hasFaults ? Int.random(in: 0..<100, using: &world.random) : 100
        world.after(world.delay(1...400)) { [self] in
            var response = OutboxResponse.failure(fault ?? .lost)
            // Below 8 it does not reach the server; from there to 16 the response is lost; to 24 it is refused.
            if fate >= 8, fate < 16 || fate >= 24 {
                let made = world.flaw?.alter(call, using: &world.random) ?? call
                let done = world.server.carryOut(made, by: user)
                if fate >= 16 { response = done }
            }
            world.announce()
            world.after(world.delay(1...400)) { [self] in
                guard process == current else { return }
                try finish(id, response)
            }
        }
    }

    private func finish(_ id: Int, _ response: OutboxResponse) throws {
        let step = sender.handle(response, for: id, at: world.now)
        world.trace?(
            "\(world.now) \(name): completed \(step.completed.map(\.row.write)), refused \(step.refused.map(\.row.write))"
        )
        if world.happens(2) { return try kill() }
        var begun: [ConversationID] = []
        try store.write { () throws(StorageError) in
            for (row, response) in step.completed where try store.complete(row, with: response) {
                begun.append(row.conversation!)
            }
            for (row, problem) in step.refused {
                if world.flaw == .takesRefusalsForSuccess {
                    try store.complete(row, with: .done)
                } else {
                    try store.refuse(row, problem)
                }
            }
        }
        if world.happens(2) { return try kill() }
        if step.needsFreshToken { fetchToken(isFresh: true) }
        let current = process
        for id in begun where process == current { try handle(.created(id)) }
        guard process == current else { return }
        try pump()
        scheduleWake()
    }
}

extension SyncWrite {
    fileprivate var isDraft: Bool {
        if case .privateChange(let change) = self { change.kind == .draft } else { false }
    }
}
