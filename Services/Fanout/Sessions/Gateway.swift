import Edge
import JSON
import Models
import Reactor
import ServiceKit

/// The WebSockets of this process: who may open one, what their clients say, and how they end.
@Reactor
final class Gateway {
    private static let helloPatience = Duration.seconds(10)
    /// More than anybody has reason to send before `hello`: pings, and the fragments of a large one.
    private static let visitorFrames = 1_000
    /// The same for a session, in what is read from it at once (64 KiB): nobody fragments a message into so many pieces.
    private static let otherFrames = 4_000
    /// How long before a token's end its client is told, in milliseconds.
    private static let expiryNotice: Int64 = 60_000
    /// Lifetimes are looked at this often.
    private static let clockInterval = Duration.milliseconds(500)
    /// Clients told to leave come back spread over so many seconds.
    private static let returnSpread = 1...5

    /// What sessions take part in, besides their streams.
    struct Signals {
        let receipts: ReceiptSender
        let typing: TypingRelay
        let presence: Presence
        let supersession: Supersession
    }

    private let sessions: SessionTable
    private var visitors = IdentityTable<Visitor>()
    private var strangers: StrangerBudget<Visitor>
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
    /// Whether it lets nobody in of whom it is not known yet which tokens are refused.
    var waitsForRefusals = true

    init(
        tokens: TokenVerifier, erased: ErasedUsers, revoked: RevokedTokens, log: Log, sessions: SessionTable,
        starter: SessionStarter,
        streams: PrivateStreams, signals: Signals, counters: Counters, turns: Turns, strangerBytes: Int
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
        strangers = StrangerBudget(limit: strangerBytes)
    }

    /// Bytes that clients hold whose token has not been seen.
    var strangerBytes: Int { strangers.used }

    /// Starts watching over lifetimes, erased users, revoked tokens and keys.
    func start() {
        erased.onErased = { [weak self] in self?.endRefusedSessions(of: $0) }
        revoked.onRevoked = { [weak self] in self?.endRefusedSessions(of: $0) }
        watchKeys()
        starter.onPlaced = { [signals] in signals.receipts.placed($0) }
        signals.supersession.start()
        Reactor.every(Self.clockInterval) { [weak self] in self?.checkLifetimes() }
    }

    /// Asks every client to come back elsewhere, not all at the same time.
    func drain() {
        isDraining = true
        turns.forEach(sessions.all) { [weak self] in self?.end($0.socket) }
        turns.forEach(visitors.values) { [weak self] in self?.end($0.socket) }
    }

    private func end(_ socket: any SessionSocket) {
        let seconds = Int.random(in: Self.returnSpread)
        socket.end(.draining, reason: "this server is being replaced", retryAfter: seconds)
    }

    // MARK: Sockets

    func admits(_: Request) -> Bool { !isDraining }

    func opened(_ socket: any SessionSocket) {
        let visitor = Visitor(socket)
        socket.userInfo = visitor
        socket.maximumMessageBytes = ContractLimits.helloBytes
        visitors.append(visitor)
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: any SessionSocket) {
        if text.count > ContractLimits.frameBytes, let visitor = socket.userInfo as? Visitor {
            return read(HelloReading(copying: text), of: visitor)
        }
        do throws(JSONError) {
            let frame = try ClientFrame(text)
            if let session = socket.userInfo as? Session {
                receive(frame, bytes: text.count, from: session)
            } else if let visitor = socket.userInfo as? Visitor {
                try receive(frame, text, from: visitor)
            }
        } catch {
            refuse(socket, error.description)
        }
    }

    /// Who breaks the protocol before their token was seen has brought none.
    private func refuse(_ socket: any SessionSocket, _ reason: String) {
        if socket.userInfo is Visitor { socket.authenticationFailed() }
        socket.end(.protocolError, reason: reason)
    }

    /// What the decoder has done with bytes of the client, whoever that is: frames besides whole messages, and what it keeps
    /// of one that has not arrived as a whole.
    func decoded(otherFrames: Int, from socket: any SessionSocket) {
        if let session = socket.userInfo as? Session {
            guard otherFrames <= Self.otherFrames else {
                return session.end(.protocolError, reason: "too many frames that say nothing")
            }
            if otherFrames > 0 { sessions.account(of: session.user).charge(Double(otherFrames), to: session) }
        } else if let visitor = socket.userInfo as? Visitor, !visitor.isKnown, socket.isOpen {
            visitor.frames += otherFrames
            guard visitor.frames <= Self.visitorFrames else {
                return refuse(socket, "too many frames before hello")
            }
            makeRoom(for: visitor)
        }
    }

    private func makeRoom(for visitor: Visitor) {
        let held = visitor.frameBytes + visitor.socket.heldInputBytes
        let announced = visitor.socket.announcedInputBytes
        for leaver in strangers.hold(held, of: announced, for: visitor, at: .now) {
            counters.strangersRefused += 1
            let seconds = Int.random(in: Self.returnSpread)
            leaver.socket.end(
                .overloaded, reason: "too much is being read from clients without token", retryAfter: seconds)
        }
    }

    func isTooSlow(_ socket: any SessionSocket) {
        socket.end(.slowConsumer, reason: "too much was waiting for this client")
    }

    func drained(_ socket: any SessionSocket) { (socket.userInfo as? Session)?.releaseStatuses(turns) }

    func closed(_ socket: any SessionSocket) {
        if let visitor = socket.userInfo as? Visitor { forget(visitor) }
        if let session = socket.userInfo as? Session { ended(session) }
    }

    private func forget(_ visitor: Visitor) {
        strangers.release(visitor)
        visitors.remove(visitor)
    }

    // MARK: Beginning

    private func receive(
        _ frame: ClientFrame, _ text: UnsafeRawBufferPointer, from visitor: Visitor
    ) throws(JSONError) {
        guard case .hello(let token) = frame else { return refuse(visitor.socket, "the first frame must be hello") }
        // It is little, so what is wrong with it is worth more to know than what is wrong with the token.
        let hello = try Hello(text)
        if let identity = verify(token, of: visitor, bytes: text.count) { begin(visitor, hello, identity) }
    }

    /// A large frame is read over as many turns as that takes: of a stranger its token alone, and the rest when that is good.
    /// Nothing else is read from the client meanwhile.
    private func read(_ reading: HelloReading, of visitor: Visitor) {
        visitor.socket.pauseReading()
        visitor.frameBytes = reading.byteCount
        turns.run { [weak self] in
            guard let self, visitor.socket.isOpen else { return false }
            do throws(JSONError) {
                return try reading.readSome(turns) || goOn(reading, of: visitor)
            } catch {
                refuse(visitor.socket, error.description)
                return false
            }
        }
    }

    /// Returns whether there is more to read.
    private func goOn(_ reading: HelloReading, of visitor: Visitor) -> Bool {
        if let identity = reading.identity {
            begin(visitor, reading.hello, identity)
            visitor.socket.resumeReading()
        } else if !reading.isHello {
            refuse(visitor.socket, "the first frame must be hello")
        } else if let identity = verify(reading.hello.token, of: visitor, bytes: reading.byteCount) {
            strangers.release(visitor)
            visitor.isKnown = true
            reading.verified(identity)
            return true
        }
        return false
    }

    /// The user is asked for more patience when they have opened too many sessions of late.
    private func verify(_ token: String, of visitor: Visitor, bytes: Int) -> Identity? {
        guard let identity = try? tokens.verify(token) else {
            visitor.socket.authenticationFailed()
            visitor.socket.end(.unauthenticated, reason: "the token is not valid")
            return nil
        }
        let user = identity.user
        guard !waitsForRefusals || erased.knows(user) && revoked.knows(user) else {
            visitor.socket.end(.overloaded, reason: "it is not known yet which tokens are revoked", retryAfter: 1)
            return nil
        }
        if let refusal = refusal(of: identity) {
            visitor.socket.end(.unauthenticated, reason: refusal.reason)
            return nil
        }
        let account = sessions.account(of: user)
        if let seconds = account.secondsInDebt {
            let reason = "the user has said too much of late"
            visitor.socket.end(.rateLimited, reason: reason, retryAfter: seconds)
            return nil
        }
        account.chargeHello(bytes: bytes)
        return identity
    }

    private func refusal(of identity: Identity) -> TokenRefusal? { TokenRefusal.of(identity, tokens, erased, revoked) }

    private func begin(_ visitor: Visitor, _ hello: Hello, _ identity: Identity) {
        let socket = visitor.socket
        // Much may have happened while the rest of a large hello was read.
        if let refusal = refusal(of: identity) { return socket.end(.unauthenticated, reason: refusal.reason) }
        forget(visitor)
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
        case .hello: session.end(.protocolError, reason: "hello is the first frame only")
        case .delivered(let items):
            signals.receipts.receive(items, isRead: false, by: session)
            cost = FrameCost.receipts(items.count)
        case .read(let items):
            signals.receipts.receive(items, isRead: true, by: session)
            cost = FrameCost.receipts(items.count)
        case .typing(let conversation, let isActive):
            cost = FrameCost.typing(audience: signals.typing.receive(conversation, isActive, from: session))
        case .auth(let token):
            renew(session, token)
            cost = FrameCost.auth
        case .ping(let id): session.send(ServerFrame.pong(id: id))
        case .unknown: break
        }
        sessions.account(of: session.user).charge(cost, to: session)
    }

    private func renew(_ session: Session, _ token: String) {
        do throws(TokenError) {
            let identity = try tokens.verify(token)
            guard identity.user == session.user else {
                return session.end(.unauthenticated, reason: "the token is another user's")
            }
            if let refusal = refusal(of: identity) {
                return session.end(.unauthenticated, reason: refusal.reason)
            }
            session.identity = identity
            session.hasWarnedOfExpiry = false
        } catch {
            session.end(.unauthenticated, reason: "the token is not valid")
        }
    }

    // MARK: Ending

    private func endRefusedSessions(of user: UserID) { sessions.sessions(of: user).forEach(endIfRefused) }

    private func endIfRefused(_ session: Session) {
        if let refusal = refusal(of: session.identity) { session.end(.unauthenticated, reason: refusal.reason) }
    }

    /// One round after the other, each over as many turns as it takes.
    private func checkLifetimes() {
        guard !isCheckingLifetimes else { return }
        isCheckingLifetimes = true
        turns.forEach(visitors.values) { [weak self] in self?.checkPatience($0) }
        turns.forEach(sessions.absent) { [weak self] in self?.sessions.forgetIfIdle($0) }
        turns.forEach(sessions.all) { [weak self] in
            self?.checkLifetime($0, at: .now)
        } end: { [weak self] in
            self?.isCheckingLifetimes = false
        }
    }

    /// Takes new keys from their file, where they come from one, and ends the sessions of keys that are gone.
    private func watchKeys() {
        guard let path = tokens.keyFile else { return }
        keyFile = TokenKeyFile(path, log: log) { [unowned self] keys in
            guard tokens.replaceKeys(by: keys) else { return false }
            turns.forEach(sessions.all) { [unowned self] in endIfRefused($0) }
            return true
        }
        keyFile?.watch()
    }

    private func checkPatience(_ visitor: Visitor) {
        guard !visitor.isKnown, visitor.socket.isOpen, MonotonicTime.now - visitor.arrival >= Self.helloPatience else {
            return
        }
        strangers.release(visitor)
        refuse(visitor.socket, "no hello within 10 s")
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

    /// A connection may end while its session is handed a change, so the streams are left afterwards, one room a step.
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
