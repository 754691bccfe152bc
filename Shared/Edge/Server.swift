import Bytes
import CLinux
import Glibc
import Reactor

/// What a server has counted since its start.
public struct ServerStatistics: Sendable {
    public var accepted = 0
    public var requests = 0
    public var webSockets = 0
    /// Connections beyond the bound.
    public var refusedConnections = 0
    /// Connections beyond the bound of their address.
    public var refusedOfAddress = 0
    /// Requests answered by the server itself: malformed, over a limit, too slow.
    public var refusedRequests = 0
    /// Requests without a valid token.
    public var failedAuthentications = 0
    /// HTTP connections closed because the peer did not read.
    public var slowReaders = 0
    /// WebSockets closed because their queue went over its bound.
    public var slowWebSockets = 0
}

/// An HTTP/1.1 and WebSocket server on the reactor.
@Reactor
public final class Server {
    public let limits: ServerLimits
    public internal(set) var statistics = ServerStatistics()
    public private(set) var isDraining = false

    let http: any HTTPHandler
    let webSockets: (any WebSocketHandler)?
    let webSocketPath: StaticString
    let webSocketSubprotocol: StaticString
    let timeouts: SweepTimeouts

    /// Shared by all connections, because each takes or copies what it read before the next one reads.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
    let flushQueue = FlushQueue()
    var connections: ConnectionTable
    /// What `ServerLimits.keptBytes` bounds.
    public internal(set) var keptBytes = 0
    private(set) var responseWriter = ResponseWriter(second: time(nil))
    /// The clock of all timeouts: how many sweeps there have been.
    private(set) var sweep: UInt32 = 0
    private var sweepPosition = 0
    private var isSweeping = false

    private static let sparedDescriptors = 128
    private var maximumConnections = 0
    private var listener: Listener?
    private var whenDrained: (@Reactor () -> Void)?

    public init(
        _ http: any HTTPHandler, webSockets: (any WebSocketHandler)? = nil,
        webSocketPath: StaticString = "/v1/socket", webSocketSubprotocol: StaticString = "parley.v1",
        limits: ServerLimits = ServerLimits()
    ) {
        self.http = http
        self.webSockets = webSockets
        self.webSocketPath = webSocketPath
        self.webSocketSubprotocol = webSocketSubprotocol
        self.limits = limits
        timeouts = SweepTimeouts(limits)
        connections = ConnectionTable(
            AddressTable(
                connectionLimit: limits.connectionsPerAddress, failureLimit: limits.failuresPerAddress,
                window: limits.sweeps(in: limits.failureWindow)))
    }

    isolated deinit { readBuffer.deallocate() }

    public var openConnections: Int { connections.count }

    /// Starts to accept at `address`, such as `0.0.0.0:8080`; port 0 takes any free one.
    /// - Returns: the port.
    @discardableResult
    public func listen(at address: String) throws(ListenError) -> Int {
        maximumConnections = connectionLimit()
        let listener = try Listener(address) { [unowned self] in accept($0, from: $1) }
        self.listener = listener
        isSweeping = true
        scheduleSweep()
        return listener.port
    }

    /// Stops accepting, finishes the outstanding answers, and calls `whenDone` when no connection is left, at the
    /// latest after `deadline`. The WebSocket handler ends its WebSockets itself.
    public func drain(deadline: Duration, whenDone: @escaping @Reactor () -> Void) {
        isDraining = true
        whenDrained = whenDone
        listener?.close()
        for connection in connections.connections(in: 0..<connections.size) { connection.drain() }
        Reactor.after(deadline) { [self] in closeAll() }
        connectionEnded()
    }

    /// The same, suspending until no connection is left.
    public func drain(deadline: Duration) async {
        await withUnsafeContinuation { continuation in
            drain(deadline: deadline) { continuation.resume() }
        }
    }

    func isWebSocketRequest(_ request: Request) -> Bool {
        guard webSockets != nil, let upgrade = request[.upgrade] else { return false }
        return upgrade.equalsIgnoringCase("websocket")
            && request.target.path.isEqual(to: webSocketPath)
    }

    /// Called by a connection that has left the table.
    func connectionEnded() {
        guard isDraining, connections.count == 0, let done = whenDrained else { return }
        whenDrained = nil
        isSweeping = false
        done()
    }

    // MARK: Accepting

    private func accept(_ socket: StreamSocket, from peer: IPAddress?) {
        guard connections.count < maximumConnections else { return turnAway(socket, Self.full) }
        let isProxy = peer.map { peer in limits.trustedProxies.contains { $0.contains(peer) } } ?? false
        let place = connections.makePlace()
        guard isProxy || admits(place, from: peer, toldByProxy: false) else {
            connections.remove(place)
            return turnAway(socket, Self.fullForAddress)
        }
        socket.setNoDelay()
        statistics.accepted += 1
        let connection = HTTPConnection(socket, from: peer, behindProxy: isProxy, at: place, of: self)
        connections.replace(place, with: connection)
    }

    /// Counts a connection for its client's address; false when that has its full number.
    func admits(_ place: ConnectionTable.Place, from client: IPAddress?, toldByProxy: Bool) -> Bool {
        guard let client, toldByProxy || !client.isPrivate else { return true }
        return connections.count(place, for: client.client)
    }

    static let full: StaticString = """
        HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: 108\r\n\
        Retry-After: 1\r\nConnection: close\r\n\r\n\
        {"status":503,"title":"Too many connections","detail":"the server has its full number","code":"overloaded"}\n
        """

    static let fullForAddress: StaticString = """
        HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nContent-Length: 111\r\n\
        Retry-After: 1\r\nConnection: close\r\n\r\n\
        {"status":429,"title":"Too many connections","detail":"this address has its full number","code":"rateLimited"}\n
        """

    /// Says why in one attempt: whoever is one too many must not cost more.
    private func turnAway(_ socket: StreamSocket, _ answer: StaticString) {
        countRefusal(answer)
        _ = socket.write(UnsafeRawBufferPointer(answer))
        socket.endWriting()
        Glibc.close(socket.descriptor)
    }

    func countRefusal(_ answer: StaticString) {
        if answer.utf8Start == Self.full.utf8Start {
            statistics.refusedConnections += 1
        } else {
            statistics.refusedOfAddress += 1
        }
    }

    /// Each connection is a descriptor, and the usual soft limit is 1,024. Some stay free for what else the process
    /// opens: were they gone, it could not even reconnect to its database.
    private func connectionLimit() -> Int {
        var descriptors = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 else {
            return limits.connections
        }
        descriptors.rlim_cur = descriptors.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        return min(limits.connections, max(1, Int(clamping: descriptors.rlim_cur) - Self.sparedDescriptors))
    }

    // MARK: Timeouts

    private func scheduleSweep() {
        Reactor.after(limits.sweepInterval) { [weak self] in
            guard let self, isSweeping else { return }
            sweepOnce()
            scheduleSweep()
        }
    }

    private func sweepOnce() {
        sweep &+= 1
        responseWriter.update(to: time(nil))
        if sweepPosition >= connections.size { sweepPosition = 0 }
        let end = min(connections.size, sweepPosition + max(256, connections.size / 4 + 1))
        for connection in connections.connections(in: sweepPosition..<end) { connection.checkTimeouts() }
        sweepPosition = end
    }

    private func closeAll() {
        for connection in connections.connections(in: 0..<connections.size) { connection.close() }
        connectionEnded()
    }
}

/// The timeouts of `ServerLimits` in sweeps.
struct SweepTimeouts {
    let head, request, firstRequest, bodyGrace, idle, write, close, ping, silence: UInt32
    /// What the slowest rate that is put up with comes to in a sweep.
    private let slowestBytes: Int

    /// How long a peer may take for `bytes` after `grace`.
    func patience(_ grace: UInt32, for bytes: Int) -> UInt32 { grace &+ UInt32(clamping: bytes / slowestBytes) }

    init(_ limits: ServerLimits) {
        firstRequest = limits.sweeps(in: limits.firstRequestTimeout)
        bodyGrace = limits.sweeps(in: limits.bodyGrace)
        slowestBytes = max(1, Int(Double(limits.slowestRate) * (limits.sweepInterval / .seconds(1))))
        head = limits.sweeps(in: limits.headTimeout)
        request = limits.sweeps(in: limits.requestTimeout)
        idle = limits.sweeps(in: limits.idleTimeout)
        write = limits.sweeps(in: limits.writeTimeout)
        close = limits.sweeps(in: limits.closeTimeout)
        ping = limits.sweeps(in: limits.pingInterval)
        silence = limits.sweeps(in: limits.silenceTimeout)
    }
}
