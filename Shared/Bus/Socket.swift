import Bytes
import CZMQ

/// One ZeroMQ socket, closed when its owner lets go.
///
/// libzmq forbids using a socket from two threads, so `Socket` is move-only and not `Sendable`: the reactor that opened
/// it keeps it.
struct Socket: ~Copyable {
    enum Role { case publisher, subscriber }
    enum SendResult { case sent, queueFull }

    /// Frames that wait for one peer, at each end. Beyond it a publisher drops; repetitions, gaps and digests repair it.
    /// A frame is about a kilobyte, and at most `Outbox.frameLimit` and an entry.
    private static let highWaterMark: CInt = 16_384
    /// A larger frame costs the peer that sent it its connection. Far beyond what Parley sends.
    private static let frameLimit: Int64 = 64 << 20
    /// What a closed socket has to deliver may take this long; libzmq's default is for ever, and a peer that is away
    /// would hang our shutdown.
    private static let lingerMilliseconds: CInt = 250
    /// A peer whose host died leaves its connection open. Silent for the timeout it is dropped, and connected again.
    private static let heartbeatMilliseconds: CInt = 5_000
    private static let heartbeatTimeoutMilliseconds: CInt = 15_000

    private let handle: UnsafeMutableRawPointer
    private let context: Context

    init(_ role: Role, in context: Context) throws(ZeroMQError) {
        guard let handle = zmq_socket(context.handle, role == .publisher ? ZMQ_PUB : ZMQ_SUB) else {
            throw .last("zmq_socket")
        }
        do {
            try Self.configure(handle, role)
        } catch {
            zmq_close(handle)
            throw error
        }
        self.context = context
        self.handle = handle  // Last: a move-only init cannot throw after this (Swift 6.3).
    }

    deinit { zmq_close(handle) }

    /// Everything that has to be set before the first bind or connect.
    private static func configure(_ handle: UnsafeMutableRawPointer, _ role: Role) throws(ZeroMQError) {
        try set(handle, ZMQ_LINGER, lingerMilliseconds)
        try set(handle, ZMQ_IPV6, 1 as CInt)
        try set(handle, ZMQ_MAXMSGSIZE, frameLimit)
        try set(handle, ZMQ_HEARTBEAT_IVL, heartbeatMilliseconds)
        try set(handle, ZMQ_HEARTBEAT_TIMEOUT, heartbeatTimeoutMilliseconds)
        try set(handle, ZMQ_RCVHWM, highWaterMark)
        // A subscriber sends its subscriptions, and silently drops those beyond this mark: unlimited there.
        try set(handle, ZMQ_SNDHWM, role == .publisher ? highWaterMark : 0)
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
}
