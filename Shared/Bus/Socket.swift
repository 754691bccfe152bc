import Bytes
import CZMQ

/// One ZeroMQ socket, closed when its owner releases it.
///
/// libzmq forbids using a socket from two threads. `Socket` is therefore move-only and not `Sendable`: it stays with
/// the reactor that opened it.
struct Socket: ~Copyable {
    enum Kind { case publisher, subscriber, replier, pair }

    /// How a socket authenticates itself and its peers (CURVE, ZeroMQ RFC 26).
    enum Security {
        /// No authentication: between processes of one host.
        case plain
        /// Peers must know our public key, and are then checked by the `ZAPHandler`.
        case server(BusKeyPair)
        /// Peers must own the secret key of `server`. Read when a connection begins.
        case client(BusKeyPair, server: BusKey)
    }

    enum SendResult { case sent, queueFull }

    /// Frames queued for one peer, at each end. Beyond it a publisher drops frames; repetitions, gap fetches and
    /// digests repair that. A frame is about a kilobyte, and at most `Outbox.frameLimit` plus one entry.
    private static let highWaterMark: CInt = 16_384
    /// The maximum frame in bytes, far above what Parley sends. libzmq closes the connection of a peer that sends a
    /// larger one.
    static let frameLimit: Int64 = 64 << 20
    /// The maximum message from a listener to a publisher in bytes: its greeting with keys, and subscriptions of a few
    /// bytes. libzmq allocates the announced size for anybody who reaches the endpoint.
    private static let subscriptionLimit: Int64 = 4096
    /// How long a closed socket may take to deliver its frames. libzmq's default is for ever: a peer that is away would
    /// block shutdown.
    private static let lingerMilliseconds: CInt = 250
    /// A peer whose host died leaves its connection open. After the timeout without a heartbeat it is dropped and
    /// reconnected.
    private static let heartbeatMilliseconds: CInt = 5_000
    private static let heartbeatTimeoutMilliseconds: CInt = 15_000
    /// Of TCP, and of the handshake after it. What answers no longer is tried anew soon, because another host may have
    /// its address by then: the kernel would ask again after up to a minute, libzmq after half of one.
    private static let connectMilliseconds: CInt = 3_000
    private static let handshakeMilliseconds: CInt = 10_000

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

    /// Sets every option that must precede the first bind or connect.
    private static func configure(_ handle: UnsafeMutableRawPointer, _ kind: Kind) throws(ZeroMQError) {
        try set(handle, ZMQ_LINGER, lingerMilliseconds)
        try set(handle, ZMQ_IPV6, 1 as CInt)
        try set(handle, ZMQ_MAXMSGSIZE, kind == .publisher ? subscriptionLimit : frameLimit)
        try set(handle, ZMQ_HEARTBEAT_IVL, heartbeatMilliseconds)
        try set(handle, ZMQ_HEARTBEAT_TIMEOUT, heartbeatTimeoutMilliseconds)
        try set(handle, ZMQ_CONNECT_TIMEOUT, connectMilliseconds)
        try set(handle, ZMQ_HANDSHAKE_IVL, handshakeMilliseconds)
        // Unlimited for a pair: libzmq's own thread would block while the pair's queue is full.
        try set(handle, ZMQ_RCVHWM, kind == .pair ? 0 : highWaterMark)
        // Unlimited for a subscriber: it sends its subscriptions, and libzmq silently drops those beyond the mark.
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
        precondition(result == 0, "ZMQ_SUBSCRIBE failed")
    }

    borrowing func unsubscribe(_ prefix: UnsafeRawBufferPointer) {
        let result = zmq_setsockopt(handle, ZMQ_UNSUBSCRIBE, prefix.baseAddress, prefix.count)
        precondition(result == 0, "ZMQ_UNSUBSCRIBE failed")
    }

    // MARK: Connections

    /// An event of an outgoing connection.
    enum ConnectionEvent {
        /// It ended before the handshake was complete.
        case handshakeFailed
        case ended
        /// libzmq will reconnect by itself.
        case triesAgain
    }

    /// Sends the events of all connections to the pair that is connected to `endpoint`, inside the process.
    borrowing func reportConnections(to endpoint: String) throws(ZeroMQError) {
        let events = Self.handshakeFailures | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED
        guard zmq_socket_monitor(handle, endpoint, events) == 0 else { throw .last("zmq_socket_monitor", endpoint) }
    }

    /// Call it before the pair is closed: libzmq's thread would wait for ever for a receiver of the next event.
    borrowing func endReports() { zmq_socket_monitor(handle, nil, 0) }

    private static let handshakeFailures =
        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH

    /// Receives the next event, nil for one of another kind, and its endpoint. The first part holds the event as a
    /// 16-bit number in native byte order and its value; the second part is the endpoint (zmq_socket_monitor(3)).
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

    /// Becomes readable when something changed inside the socket (edge-triggered). It signals again only after
    /// `isReadable` was read, and not for what a send or receive noticed: read `isReadable` after every burst of those.
    var descriptor: CInt { option(ZMQ_FD) }

    var isReadable: Bool { option(ZMQ_EVENTS) & ZMQ_POLLIN != 0 }

    private borrowing func option(_ option: CInt) -> CInt {
        var value: CInt = 0
        var size = MemoryLayout<CInt>.size
        let result = zmq_getsockopt(handle, option, &value, &size)
        precondition(result == 0, "an open socket has the option \(option)")
        return value
    }

    /// Whether another part of the message received last follows.
    var hasMoreParts: Bool { option(ZMQ_RCVMORE) != 0 }

    // MARK: Frames

    /// Receives the next frame; nil when none has arrived.
    borrowing func receive() -> Message? {
        let message = Message()
        while zmq_msg_recv(message.handle, handle, ZMQ_DONTWAIT) == -1 {
            let code = zmq_errno()
            if code == EAGAIN { return nil }
            precondition(code == EINTR, "zmq_msg_recv failed on an open socket")
        }
        return message
    }

    borrowing func send(_ frame: UnsafeRawBufferPointer) -> SendResult {
        while zmq_send(handle, frame.baseAddress, frame.count, ZMQ_DONTWAIT) == -1 {
            let code = zmq_errno()
            if code == EAGAIN { return .queueFull }
            precondition(code == EINTR, "zmq_send failed on an open socket")
        }
        return .sent
    }

    /// Sends one multipart message to a peer in this process, whose queue is never full.
    borrowing func send(parts: [[UInt8]]) {
        for (index, part) in parts.enumerated() {
            let flags = index == parts.count - 1 ? ZMQ_DONTWAIT : ZMQ_DONTWAIT | ZMQ_SNDMORE
            while zmq_send(handle, part, part.count, flags) == -1 {
                precondition(zmq_errno() == EINTR, "zmq_send failed inside the process")
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
