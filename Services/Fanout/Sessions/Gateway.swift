import Edge
import JSON
import Models
import Reactor
import ServiceKit

/// Handles the WebSockets of this process: admission, client frames, and closing.
@Reactor
final class Gateway {
    private static let helloTimeout = Duration.seconds(10)
    /// The most frames besides whole messages before `hello`: pings, and fragments of a large one.
    private static let unauthenticatedFrames = 1_000
    /// The same for a session within one read (64 KiB). No client fragments a message into so many pieces.
    private static let otherFrames = 4_000
    /// How long before a token expires its client is warned, in milliseconds.
    private static let expiryNotice: Int64 = 60_000
    /// The interval at which lifetimes are checked.
    private static let clockInterval = Duration.milliseconds(500)
    /// The reconnection delays for clients that are asked to leave, in seconds.
    private static let returnSpread = 1...5

    /// The parts that handle client frames besides streams.
    struct Signals {
        let receipts: ReceiptSender
        let typing: TypingRelay
        let presence: Presence
        let supersession: Supersession
    }

    private let sessions: SessionTable
    private var unauthenticated = IdentityTable<UnauthenticatedConnection>()
    private var budget: UnauthenticatedBudget<UnauthenticatedConnection>
    private var tokens: TokenVerifier
    private let erased: ErasedUsers
    private let revoked: RevokedTokens
    private let log: Log
    private var keyFile: TokenKeyFile?
    private let starter: SessionStarter
    private let streams: PrivateStreams
    private let signals: Signals
    private let counters: Counters
    private let turns: Turns
    private var isDraining = false
    private var isCheckingLifetimes = false
    /// Whether clients are admitted only once erased users and revoked tokens are known.
    var requiresRefusalLists = true

    init(
        tokens: TokenVerifier, erased: ErasedUsers, revoked: RevokedTokens, log: Log, sessions: SessionTable,
        starter: SessionStarter,
        streams: PrivateStreams, signals: Signals, counters: Counters, turns: Turns, unauthenticatedBytes: Int
    ) {
        self.tokens = tokens
        self.erased = erased
        self.revoked = revoked
        self.log = log
        self.sessions = sessions
        self.starter = starter
        self.streams = streams
        self.signals = signals
        self.counters = counters
        self.turns = turns
        budget = UnauthenticatedBudget(limit: unauthenticatedBytes)
    }

    /// Bytes held for unauthenticated connections.
    var unauthenticatedBytes: Int { budget.used }

    /// Starts watching lifetimes, erased and suspended users, revoked tokens and keys.
    func start() {
        erased.onErased = { [weak self] in self?.endRefusedSessions(of: $0) }
        revoked.onRevoked = { [weak self] in self?.endRefusedSessions(of: $0) }
        watchKeys()
        starter.onPlaced = { [signals] in signals.receipts.placed($0) }
        signals.supersession.start()
        Reactor.every(Self.clockInterval) { [weak self] in self?.checkLifetimes() }
    }

    /// Asks every client to reconnect elsewhere, spread over time.
    func drain() {
        isDraining = true
        turns.forEach(sessions.all) { [weak self] in self?.end($0.socket) }
        turns.forEach(unauthenticated.values) { [weak self] in self?.end($0.socket) }
    }

    private func end(_ socket: any SessionSocket) {
        let seconds = Int.random(in: Self.returnSpread)
        socket.end(.draining, reason: "the server is shutting down", retryAfter: seconds)
    }

    // MARK: Sockets

    func admits(_: Request) -> Bool { !isDraining }

    func opened(_ socket: any SessionSocket) {
        let connection = UnauthenticatedConnection(socket)
        socket.userInfo = connection
        socket.maximumMessageBytes = ContractLimits.helloBytes
        unauthenticated.append(connection)
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: any SessionSocket) {
        if text.count > ContractLimits.frameBytes, let connection = socket.userInfo as? UnauthenticatedConnection {
            return read(LargeHello(copying: text), of: connection)
        }
        do throws(JSONError) {
            let frame = try ClientFrame(text)
            if let session = socket.userInfo as? Session {
                receive(frame, bytes: text.count, from: session)
            } else if let connection = socket.userInfo as? UnauthenticatedConnection {
                try receive(frame, text, from: connection)
            }
        } catch {
            refuse(socket, error.description)
        }
    }

    /// A protocol error before authentication counts as a failed authentication.
    private func refuse(_ socket: any SessionSocket, _ reason: String) {
        if socket.userInfo is UnauthenticatedConnection { socket.authenticationFailed() }
        socket.end(.protocolError, reason: reason)
    }

    /// Charges a client for what the decoder did with its bytes: frames besides whole messages, and memory for an
    /// incomplete message.
    func decoded(otherFrames: Int, from socket: any SessionSocket) {
        if let session = socket.userInfo as? Session {
            guard otherFrames <= Self.otherFrames else {
                return session.end(.protocolError, reason: "too many control frames and fragments")
            }
            if otherFrames > 0 { sessions.account(of: session.user).charge(Double(otherFrames), to: session) }
        } else if let connection = socket.userInfo as? UnauthenticatedConnection, !connection.isKnown, socket.isOpen {
            connection.frames += otherFrames
            guard connection.frames <= Self.unauthenticatedFrames else {
                return refuse(socket, "too many frames before hello")
            }
            makeRoom(for: connection)
        }
    }

    private func makeRoom(for connection: UnauthenticatedConnection) {
        let held = connection.frameBytes + connection.socket.heldInputBytes
        let announced = connection.socket.announcedInputBytes
        for leaver in budget.hold(held, of: announced, for: connection, at: .now) {
            counters.unauthenticatedRefused += 1
            let seconds = Int.random(in: Self.returnSpread)
            leaver.socket.end(
                .overloaded, reason: "unauthenticated clients hold too much memory", retryAfter: seconds)
        }
    }

    func isTooSlow(_ socket: any SessionSocket) {
        socket.end(.slowConsumer, reason: "the client reads too slowly")
    }

    func drained(_ socket: any SessionSocket) { (socket.userInfo as? Session)?.releaseStatuses(turns) }

    func closed(_ socket: any SessionSocket) {
        if let connection = socket.userInfo as? UnauthenticatedConnection { forget(connection) }
        if let session = socket.userInfo as? Session { ended(session) }
    }

    private func forget(_ connection: UnauthenticatedConnection) {
        budget.release(connection)
        unauthenticated.remove(connection)
    }

    // MARK: Authentication

    private func receive(
        _ frame: ClientFrame, _ text: UnsafeRawBufferPointer, from connection: UnauthenticatedConnection
    ) throws(JSONError) {
        guard case .hello(let token) = frame else { return refuse(connection.socket, "the first frame must be hello") }
        // It is small: report a malformed hello before an invalid token.
        let hello = try Hello(text)
        if let identity = verify(token, of: connection, bytes: text.count) { begin(connection, hello, identity) }
    }

    /// Reads a large frame over several turns: first only its token, and the rest when the token is valid. Nothing else
    /// is read from the client meanwhile.
    private func read(_ reading: LargeHello, of connection: UnauthenticatedConnection) {
        connection.socket.pauseReading()
        connection.frameBytes = reading.byteCount
        turns.run { [weak self] in
            guard let self, connection.socket.isOpen else { return false }
            do throws(JSONError) {
                return try reading.readSome(turns) || continueReading(reading, of: connection)
            } catch {
                refuse(connection.socket, error.description)
                return false
            }
        }
    }

    /// Returns whether there is more to read.
    private func continueReading(_ reading: LargeHello, of connection: UnauthenticatedConnection) -> Bool {
        if let identity = reading.identity {
            begin(connection, reading.hello, identity)
            connection.socket.resumeReading()
        } else if !reading.isHello {
            refuse(connection.socket, "the first frame must be hello")
        } else if let identity = verify(reading.hello.token, of: connection, bytes: reading.byteCount) {
            budget.release(connection)
            connection.isKnown = true
            reading.verified(identity)
            return true
        }
        return false
    }

    /// Verifies a token. Closes the connection when the token is refused, or when the user has exceeded their rate.
    private func verify(_ token: String, of connection: UnauthenticatedConnection, bytes: Int) -> Identity? {
        guard let identity = try? tokens.verify(token) else {
            connection.socket.authenticationFailed()
            connection.socket.end(.unauthenticated, reason: "the token is not valid")
            return nil
        }
        let user = identity.user
        guard !requiresRefusalLists || erased.knows(user) && revoked.knows(user) else {
            connection.socket.end(
                .overloaded, reason: "the list of revoked tokens is still being loaded", retryAfter: 1)
            return nil
        }
        if let refusal = refusal(of: identity) {
            connection.socket.end(.unauthenticated, reason: refusal.reason)
            return nil
        }
        let account = sessions.account(of: user)
        if let seconds = account.secondsInDebt {
            let reason = "the user has sent too many frames recently"
            connection.socket.end(.rateLimited, reason: reason, retryAfter: seconds)
            return nil
        }
        account.chargeHello(bytes: bytes)
        // After the charge, so that whoever tries again and again has to wait.
        if let suspension = exclusion(of: identity) {
            connection.socket.end(suspension)
            return nil
        }
        return identity
    }

    private func refusal(of identity: Identity) -> TokenRefusal? { TokenRefusal.of(identity, tokens, erased, revoked) }

    /// The suspension by which its user has no session; nil: they may have one.
    private func exclusion(of identity: Identity) -> Problem.Suspended? {
        revoked.suspension(of: identity).flatMap { $0.mode == .out ? $0 : nil }
    }

    private func begin(_ connection: UnauthenticatedConnection, _ hello: Hello, _ identity: Identity) {
        let socket = connection.socket
        // The token may have been revoked, or its user suspended, while the rest of a large hello was read.
        if let refusal = refusal(of: identity) { return socket.end(.unauthenticated, reason: refusal.reason) }
        if let suspension = exclusion(of: identity) { return socket.end(suspension) }
        forget(connection)
        let session = Session(socket, identity)
        socket.userInfo = session
        socket.maximumMessageBytes = ContractLimits.frameBytes
        signals.supersession.supersede(by: session)
        sessions.add(session)
        starter.start(session, hello)
    }

    // MARK: Frames

    private func receive(_ frame: ClientFrame, bytes: Int, from session: Session) {
        var cost = FrameCost.frame(bytes: bytes)
        switch frame {
        case .hello: session.end(.protocolError, reason: "hello must be the first frame")
        case .delivered(let items):
            signals.receipts.receive(items, isRead: false, by: session)
            cost = FrameCost.receipts(items.count)
        case .read(let items):
            signals.receipts.receive(items, isRead: true, by: session)
            cost = FrameCost.receipts(items.count)
        case .typing(let conversation, let isActive):
            cost = FrameCost.typing(audience: typing(conversation, isActive, from: session))
        case .auth(let token):
            renew(session, token)
            cost = FrameCost.auth
        case .ping(let id): session.send(ServerFrame.pong(id: id))
        case .unknown: break
        }
        sessions.account(of: session.user).charge(cost, to: session)
    }

    /// Returns how many were told. Those of whom others see nothing at present are ignored: it would expire by itself.
    private func typing(_ conversation: ConversationID, _ isActive: Bool, from session: Session) -> Int {
        guard revoked.suspension(of: session.identity) == nil else { return 0 }
        return signals.typing.receive(conversation, isActive, from: session)
    }

    private func renew(_ session: Session, _ token: String) {
        do throws(TokenError) {
            let identity = try tokens.verify(token)
            guard identity.user == session.user else {
                return session.end(.unauthenticated, reason: "the token belongs to another user")
            }
            if let refusal = refusal(of: identity) {
                return session.end(.unauthenticated, reason: refusal.reason)
            }
            if let suspension = exclusion(of: identity) { return session.socket.end(suspension) }
            session.identity = identity
            session.hasWarnedOfExpiry = false
        } catch {
            session.end(.unauthenticated, reason: "the token is not valid")
        }
    }

    // MARK: Ending

    private func endRefusedSessions(of user: UserID) { sessions.sessions(of: user).forEach(endIfRefused) }

    private func endIfRefused(_ session: Session) {
        if let refusal = refusal(of: session.identity) {
            session.end(.unauthenticated, reason: refusal.reason)
        } else if let suspension = exclusion(of: session.identity) {
            session.socket.end(suspension)
        }
    }

    /// Rounds do not overlap; each is spread over several turns.
    private func checkLifetimes() {
        guard !isCheckingLifetimes else { return }
        isCheckingLifetimes = true
        turns.forEach(unauthenticated.values) { [weak self] in self?.checkHelloTimeout($0) }
        turns.forEach(sessions.absent) { [weak self] in self?.sessions.forgetIfIdle($0) }
        turns.forEach(sessions.all) { [weak self] in
            self?.checkLifetime($0, at: .now)
        } end: { [weak self] in
            self?.isCheckingLifetimes = false
        }
    }

    /// Reloads keys from their file, if there is one, and ends the sessions whose key was removed.
    private func watchKeys() {
        guard let path = tokens.keyFile else { return }
        keyFile = TokenKeyFile(path, log: log) { [unowned self] keys in
            guard tokens.replaceKeys(by: keys) else { return false }
            turns.forEach(sessions.all) { [weak self] in self?.endIfRefused($0) }
            return true
        }
        keyFile?.watch()
    }

    private func checkHelloTimeout(_ connection: UnauthenticatedConnection) {
        guard !connection.isKnown, connection.socket.isOpen,
            MonotonicTime.now - connection.arrival >= Self.helloTimeout
        else {
            return
        }
        budget.release(connection)
        refuse(connection.socket, "no hello within 10 s")
    }

    private func checkLifetime(_ session: Session, at now: Timestamp) {
        guard session.socket.isOpen else { return }
        let left = session.expiresAt.milliseconds - now.milliseconds
        if left <= 0 {
            endIfRefused(session)
        } else if left <= Self.expiryNotice, !session.hasWarnedOfExpiry {
            session.hasWarnedOfExpiry = true
            session.send(ServerFrame.tokenExpiring(at: session.expiresAt))
        }
    }

    /// A connection may end while a change is delivered to its session, so its rooms are left later, one per step.
    private func ended(_ session: Session) {
        session.markEnded()
        sessions.remove(session)
        signals.receipts.ended(session)
        let hasOther = sessions.sessions(of: session.user).contains(where: \.isPlaced)
        let departure = signals.presence.ending(session, isLast: !hasOther)
        turns.run { [self] in
            guard let room = session.rooms.popLast() else {
                streams.leave(session)
                return false
            }
            signals.typing.ended(session, in: room)
            signals.presence.leaving(session, room, departure)
            room.leave(session)
            return true
        }
    }
}

extension Gateway: WebSocketHandler {
    func opened(_ socket: WebSocket) { opened(socket as any SessionSocket) }

    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket) {
        received(text, from: socket as any SessionSocket)
    }

    func decoded(otherFrames: Int, from socket: WebSocket) {
        decoded(otherFrames: otherFrames, from: socket as any SessionSocket)
    }

    func isTooSlow(_ socket: WebSocket) { isTooSlow(socket as any SessionSocket) }
    func drained(_ socket: WebSocket) { drained(socket as any SessionSocket) }
    func closed(_ socket: WebSocket) { closed(socket as any SessionSocket) }
}
