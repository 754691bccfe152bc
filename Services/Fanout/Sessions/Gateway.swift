import Edge
import JSON
import Models
import Reactor
import ServiceKit

/// The WebSockets of this process: who may open one, what their clients say, and how they end.
@Reactor
final class Gateway {
    private static let helloBytes = 1 << 20
    private static let frameBytes = 64 << 10
    private static let helloPatience: Int64 = 10_000
    /// How long before a token's end its client is told, in milliseconds.
    private static let expiryNotice: Int64 = 60_000
    /// Lifetimes are looked at this often.
    private static let clockInterval = Duration.milliseconds(500)
    /// Clients told to leave come back spread over so many seconds.
    private static let returnSpread = 1...5

    /// A WebSocket whose client has not said yet who it is.
    private final class Visitor {
        let socket: any SessionSocket
        let arrival: Timestamp
        init(_ socket: any SessionSocket) {
            self.socket = socket
            arrival = .now
        }
    }

    private let sessions: SessionTable
    private var visitors: [ObjectIdentifier: Visitor] = [:]
    private var tokens: TokenVerifier
    private let erased: ErasedUsers
    private let revoked: RevokedTokens
    private let log: Log
    private var keyFile: TokenKeyFile?
    private let starter: SessionStarter
    private let streams: PrivateStreams
    private let receipts: ReceiptSender
    private let typing: TypingRelay
    private let presence: Presence
    private let supersession: Supersession
    private var isDraining = false
    private var isEndingPlanned = false

    init(
        tokens: TokenVerifier, erased: ErasedUsers, revoked: RevokedTokens, log: Log, sessions: SessionTable,
        starter: SessionStarter,
        streams: PrivateStreams, receipts: ReceiptSender, typing: TypingRelay, presence: Presence,
        supersession: Supersession
    ) {
        self.presence = presence
        self.tokens = tokens
        self.erased = erased
        self.revoked = revoked
        self.log = log
        self.sessions = sessions
        self.starter = starter
        self.streams = streams
        self.receipts = receipts
        self.typing = typing
        self.supersession = supersession
    }

    /// Starts watching over lifetimes, erased users, revoked tokens and keys.
    func start() {
        erased.onErased = { [weak self] in self?.endSessions(of: $0) }
        revoked.onRevoked = { [weak self] _ in self?.planToEndRevokedSessions() }
        watchKeys()
        starter.onPlaced = { [receipts] in receipts.placed($0) }
        supersession.start()
        Reactor.every(Self.clockInterval) { [weak self] in self?.checkLifetimes(at: .now) }
    }

    /// Asks every client to come back elsewhere, not all at the same time.
    func drain() {
        isDraining = true
        for session in Array(sessions.all) { end(session.socket) }
        for visitor in Array(visitors.values) { end(visitor.socket) }
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
        socket.maximumMessageBytes = Self.helloBytes
        visitors[ObjectIdentifier(visitor)] = visitor
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: any SessionSocket) {
        do throws(JSONError) {
            let frame = try ClientFrame(text)
            if let session = socket.userInfo as? Session {
                receive(frame, from: session)
            } else if let visitor = socket.userInfo as? Visitor {
                receive(frame, from: visitor)
            }
        } catch {
            socket.end(.protocolError, reason: error.description)
        }
    }

    func isTooSlow(_ socket: any SessionSocket) {
        socket.end(.slowConsumer, reason: "too much was waiting for this client")
    }

    func drained(_ socket: any SessionSocket) { (socket.userInfo as? Session)?.releaseStatuses() }

    func closed(_ socket: any SessionSocket) {
        if let visitor = socket.userInfo as? Visitor { visitors[ObjectIdentifier(visitor)] = nil }
        if let session = socket.userInfo as? Session { ended(session) }
    }

    // MARK: Beginning

    private func receive(_ frame: ClientFrame, from visitor: Visitor) {
        guard case .hello(let hello) = frame else {
            return visitor.socket.end(.protocolError, reason: "the first frame must be hello")
        }
        do throws(TokenError) {
            let identity = try tokens.verify(hello.token)
            guard !erased.contains(identity.user) else {
                return visitor.socket.end(.unauthenticated, reason: "the token's user was erased")
            }
            guard !revoked.contains(identity) else {
                return visitor.socket.end(.unauthenticated, reason: "the token was revoked")
            }
            begin(visitor, hello, identity)
        } catch {
            visitor.socket.end(.unauthenticated, reason: "the token is not valid")
        }
    }

    private func begin(_ visitor: Visitor, _ hello: Hello, _ identity: Identity) {
        let socket = visitor.socket
        visitors[ObjectIdentifier(visitor)] = nil
        let session = Session(socket, identity)
        socket.userInfo = session
        socket.maximumMessageBytes = Self.frameBytes
        supersession.supersede(by: session)
        sessions.add(session)
        starter.start(session, hello)
    }

    // MARK: Frames

    private func receive(_ frame: ClientFrame, from session: Session) {
        switch frame {
        case .hello: session.end(.protocolError, reason: "hello is the first frame only")
        case .delivered(let items):
            for item in items { receipts.delivered(item, by: session) }
        case .read(let items):
            for item in items { receipts.read(item, by: session) }
        case .typing(let conversation, let isActive): typing.receive(conversation, isActive, from: session)
        case .auth(let token): renew(session, token)
        case .ping(let id): session.send(ServerFrame.pong(id: id))
        case .unknown: break
        }
    }

    private func renew(_ session: Session, _ token: String) {
        do throws(TokenError) {
            let identity = try tokens.verify(token)
            guard identity.user == session.user else {
                return session.end(.unauthenticated, reason: "the token is another user's")
            }
            guard !revoked.contains(identity) else {
                return session.end(.unauthenticated, reason: "the token was revoked")
            }
            session.identity = identity
            session.hasWarnedOfExpiry = false
        } catch {
            session.end(.unauthenticated, reason: "the token is not valid")
        }
    }

    // MARK: Ending

    private func endSessions(of user: UserID) {
        for session in Array(sessions.all) where session.user == user {
            session.end(.unauthenticated, reason: "the user was erased")
        }
    }

    /// Many revocations may come in a turn, when they are loaded; all sessions are looked at once.
    private func planToEndRevokedSessions() {
        guard !isEndingPlanned else { return }
        isEndingPlanned = true
        Reactor.atEndOfTurn { [self] in
            isEndingPlanned = false
            for session in Array(sessions.all) where revoked.contains(session.identity) {
                session.end(.unauthenticated, reason: "the token was revoked")
            }
        }
    }

    /// Takes new keys from their file, where they come from one, and ends the sessions of keys that are gone.
    private func watchKeys() {
        guard let path = tokens.keyFile else { return }
        keyFile = TokenKeyFile(path, log: log) { [unowned self] keys in
            guard tokens.replaceKeys(by: keys) else { return false }
            for session in Array(sessions.all) where !tokens.hasKey(of: session.identity) {
                session.end(.unauthenticated, reason: "the key of the token is no longer valid")
            }
            return true
        }
        keyFile?.watch()
    }

    private func checkLifetimes(at now: Timestamp) {
        for visitor in visitors.values
        where visitor.socket.isOpen && now.milliseconds - visitor.arrival.milliseconds >= Self.helloPatience {
            visitor.socket.end(.protocolError, reason: "no hello within 10 s")
        }
        for session in sessions.all where session.socket.isOpen { checkLifetime(session, at: now) }
    }

    private func checkLifetime(_ session: Session, at now: Timestamp) {
        let left = session.expiresAt.milliseconds - now.milliseconds
        if left <= 0 {
            session.end(.unauthenticated, reason: "the token has expired")
        } else if left <= Self.expiryNotice, !session.hasWarnedOfExpiry {
            session.hasWarnedOfExpiry = true
            session.send(ServerFrame.tokenExpiring(at: session.expiresAt))
        }
    }

    /// A connection may end while its session is handed a change, so the streams are left afterwards.
    private func ended(_ session: Session) {
        session.markEnded()
        sessions.remove(session)
        Reactor.atEndOfTurn { [self] in
            typing.ended(session)
            let rooms = session.rooms
            for room in rooms { room.leave(session) }
            session.rooms = []
            streams.leave(session)
            presence.ended(session, rooms)
        }
    }
}

extension Gateway: WebSocketHandler {
    func opened(_ socket: WebSocket) { opened(socket as any SessionSocket) }

    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket) {
        received(text, from: socket as any SessionSocket)
    }

    func isTooSlow(_ socket: WebSocket) { isTooSlow(socket as any SessionSocket) }
    func drained(_ socket: WebSocket) { drained(socket as any SessionSocket) }
    func closed(_ socket: WebSocket) { closed(socket as any SessionSocket) }
}
