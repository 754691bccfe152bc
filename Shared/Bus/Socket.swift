import Bytes
import CZMQ

/// One ZeroMQ socket, closed when its owner lets go.
///
/// libzmq forbids using a socket from two threads, so `Socket` is move-only and not `Sendable`: the reactor that opened
/// it keeps it.
struct Socket: ~Copyable {
    enum Kind { case publisher, subscriber, replier, pair }

    /// How a socket proves who it is, and who may be at the other end (CURVE, ZeroMQ RFC 26).
    enum Security {
        /// Not at all: between processes of one host.
        case plain
        /// Whoever connects has to know the key that belongs to ours, and is then shown to the `Doorkeeper`.
        case server(BusKeyPair)
        /// Whoever is connected to has to own the secret key that belongs to `server`. Read when a connection is begun.
        case client(BusKeyPair, server: BusKey)
    }

    enum SendResult { case sent, queueFull }

    /// Frames that wait for one peer, at each end. Beyond it a publisher drops; repetitions, gaps and digests repair it.
    /// A frame is about a kilobyte, and at most `Outbox.frameLimit` and an entry.
    private static let highWaterMark: CInt = 16_384
    /// A larger frame costs the peer that sent it its connection, for a while. Far beyond what Parley sends.
    static let frameLimit: Int64 = 64 << 20
    /// What a listener sends to a publisher: its greeting with keys, and subscriptions of a few bytes. Room is made for
    /// what is announced, for whoever reaches the endpoint.
    private static let subscriptionLimit: Int64 = 4096
    /// What a closed socket has to deliver may take this long; libzmq's default is for ever, and a peer that is away
    /// would hang our shutdown.
    private static let lingerMilliseconds: CInt = 250
    /// A peer whose host died leaves its connection open. Silent for the timeout it is dropped, and connected again.
    private static let heartbeatMilliseconds: CInt = 5_000
    private static let heartbeatTimeoutMilliseconds: CInt = 15_000

    private let handle: UnsafeMutableRawPointer
    private let context: Context

    init(_ kind: Kind, _ security: Security, in context: Context) throws(ZeroMQError) {
        guard let handle = zmq_socket(context.handle, kind.type) else {
            throw .last("zmq_socket")
        }
        do {
            try Self.configure(handle, kind)
            try Self.secure(handle, security)
        } catch {
            zmq_close(handle)
            throw error
        }
        self.context = context
        self.handle = handle  // Last: a move-only init cannot throw after this (Swift 6.3).
    }

    deinit {
        endReports()
        zmq_close(handle)
    }

    /// Everything that has to be set before the first bind or connect.
    private static func configure(_ handle: UnsafeMutableRawPointer, _ kind: Kind) throws(ZeroMQError) {
        try set(handle, ZMQ_LINGER, lingerMilliseconds)
        try set(handle, ZMQ_IPV6, 1 as CInt)
        try set(handle, ZMQ_MAXMSGSIZE, kind == .publisher ? subscriptionLimit : frameLimit)
        try set(handle, ZMQ_HEARTBEAT_IVL, heartbeatMilliseconds)
        try set(handle, ZMQ_HEARTBEAT_TIMEOUT, heartbeatTimeoutMilliseconds)
        // libzmq's own thread waits while a pair takes no more of its reports: unlimited there.
        try set(handle, ZMQ_RCVHWM, kind == .pair ? 0 : highWaterMark)
        // A subscriber sends its subscriptions, and silently drops those beyond this mark: unlimited there.
        try set(handle, ZMQ_SNDHWM, kind == .publisher ? highWaterMark : 0)
    }

    private static func secure(_ handle: UnsafeMutableRawPointer, _ security: Security) throws(ZeroMQError) {
        switch security {
        case .plain: break
        case .server(let own):
            try set(handle, ZMQ_CURVE_SERVER, 1 as CInt)
            try set(handle, ZMQ_CURVE_SECRETKEY, own.secretKey.bytes)
            try set(handle, ZMQ_ZAP_DOMAIN, Array("parley".utf8))
        case .client(let own, let server):
            try set(handle, ZMQ_CURVE_SERVERKEY, server.bytes)
            try set(handle, ZMQ_CURVE_PUBLICKEY, own.publicKey.bytes)
            try set(handle, ZMQ_CURVE_SECRETKEY, own.secretKey.bytes)
        }
    }

    private static func set(
        _ handle: UnsafeMutableRawPointer, _ option: CInt, _ bytes: [UInt8]
    ) throws(ZeroMQError) {
        guard zmq_setsockopt(handle, option, bytes, bytes.count) == 0 else {
            throw .last("zmq_setsockopt", "\(option)")
        }
    }

    private static func set<Value: FixedWidthInteger>(
        _ handle: UnsafeMutableRawPointer, _ option: CInt, _ value: Value
    ) throws(ZeroMQError) {
        var value = value
        guard zmq_setsockopt(handle, option, &value, MemoryLayout<Value>.size) == 0 else {
            throw .last("zmq_setsockopt", "\(option)")
        }
    }

    // MARK: Endpoints

    borrowing func bind(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_bind(handle, endpoint) == 0 else { throw .last("zmq_bind", endpoint) }
    }

    borrowing func connect(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_connect(handle, endpoint) == 0 else { throw .last("zmq_connect", endpoint) }
    }

    borrowing func disconnect(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_disconnect(handle, endpoint) == 0 else { throw .last("zmq_disconnect", endpoint) }
    }

    borrowing func subscribe(_ prefix: UnsafeRawBufferPointer) {
        let result = zmq_setsockopt(handle, ZMQ_SUBSCRIBE, prefix.baseAddress, prefix.count)
        precondition(result == 0, "a subscriber may always subscribe")
    }

    borrowing func unsubscribe(_ prefix: UnsafeRawBufferPointer) {
        let result = zmq_setsockopt(handle, ZMQ_UNSUBSCRIBE, prefix.baseAddress, prefix.count)
        precondition(result == 0, "only what was subscribed is unsubscribed")
    }

    // MARK: Connections

    /// What happens to a connection that this side began.
    enum ConnectionEvent {
        /// It ended before both sides knew who the other is.
        case handshakeFailed
        case ended
        /// libzmq will connect again by itself.
        case triesAgain
    }

    /// Has the events of all connections told to the pair that is connected to `endpoint`, inside the process.
    borrowing func reportConnections(to endpoint: String) throws(ZeroMQError) {
        let events = Self.handshakeFailures | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED
        guard zmq_socket_monitor(handle, endpoint, events) == 0 else { throw .last("zmq_socket_monitor", endpoint) }
    }

    /// Before the pair is closed: libzmq's thread would wait for ever for somebody to take an event.
    borrowing func endReports() { zmq_socket_monitor(handle, nil, 0) }

    private static let handshakeFailures =
        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH

    /// The next event, nil for one of another kind, and the endpoint. Two parts: the event as a number of the machine's byte
    /// order, 16 bits, and what belongs to it; then the endpoint (`zmq_socket_monitor`).
    borrowing func receiveConnectionEvent() -> (event: ConnectionEvent?, endpoint: String)? {
        guard let event = receive(), hasMoreParts, let endpoint = receive() else { return nil }
        let number = CInt(event.bytes.loadUnaligned(as: UInt16.self))
        return (Self.connectionEvent(number), String(decoding: endpoint.bytes, as: UTF8.self))
    }

    private static func connectionEvent(_ number: CInt) -> ConnectionEvent? {
        switch number {
        case ZMQ_EVENT_DISCONNECTED: .ended
        case ZMQ_EVENT_CONNECT_RETRIED: .triesAgain
        case _ where number & handshakeFailures != 0: .handshakeFailed
        default: nil
        }
    }

    // MARK: Readiness

    /// Readable when something changed inside the socket, whatever it is. Says nothing again until `isReadable` was asked,
    /// and nothing about what a send or receive noticed on the way: ask after every burst of those.
    var descriptor: CInt { option(ZMQ_FD) }

    var isReadable: Bool { option(ZMQ_EVENTS) & ZMQ_POLLIN != 0 }

    private borrowing func option(_ option: CInt) -> CInt {
        var value: CInt = 0
        var size = MemoryLayout<CInt>.size
        let result = zmq_getsockopt(handle, option, &value, &size)
        precondition(result == 0, "an open socket has the option \(option)")
        return value
    }

    /// Whether the frame received last is followed by another part of the same message.
    var hasMoreParts: Bool { option(ZMQ_RCVMORE) != 0 }

    // MARK: Frames

    /// The next frame, or nil when none has arrived.
    borrowing func receive() -> Message? {
        let message = Message()
        while zmq_msg_recv(message.handle, handle, ZMQ_DONTWAIT) == -1 {
            let code = zmq_errno()
            if code == EAGAIN { return nil }
            precondition(code == EINTR, "receiving from an open socket only ever has to wait")
        }
        return message
    }

    borrowing func send(_ frame: UnsafeRawBufferPointer) -> SendResult {
        while zmq_send(handle, frame.baseAddress, frame.count, ZMQ_DONTWAIT) == -1 {
            let code = zmq_errno()
            if code == EAGAIN { return .queueFull }
            precondition(code == EINTR, "sending on an open socket only ever has to wait")
        }
        return .sent
    }

    /// Sends one message of several parts, to a peer in this process, whose queue is never full.
    borrowing func send(parts: [[UInt8]]) {
        for (index, part) in parts.enumerated() {
            let flags = index == parts.count - 1 ? ZMQ_DONTWAIT : ZMQ_DONTWAIT | ZMQ_SNDMORE
            while zmq_send(handle, part, part.count, flags) == -1 {
                precondition(zmq_errno() == EINTR, "an answer inside the process finds room")
            }
        }
    }
}

extension Socket.Kind {
    fileprivate var type: CInt {
        switch self {
        case .publisher: ZMQ_PUB
        case .subscriber: ZMQ_SUB
        case .replier: ZMQ_REP
        case .pair: ZMQ_PAIR
        }
    }
}
