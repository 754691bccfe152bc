import Bytes
import CLinux
import Glibc
import Reactor

/// The counters of a server since its start.
public struct ServerStatistics: Sendable {
    public var accepted = 0
    public var requests = 0
    public var webSockets = 0
    /// Connections refused at the connection limit.
    public var refusedConnections = 0
    /// Connections refused at the limit of their address.
    public var refusedByAddress = 0
    /// Requests refused by the server itself: malformed, over a limit, too slow.
    public var refusedRequests = 0
    /// Requests without a valid token.
    public var failedAuthentications = 0
    /// HTTP connections closed because the peer did not read.
    public var slowReaders = 0
    /// WebSockets closed because their queue exceeded its limit.
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

    /// Shared by all connections: each consumes or copies its input before the next one reads.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
    let flushQueue = FlushQueue()
    var connections: ConnectionTable
    /// The total that `ServerLimits.bufferedBytes` limits.
    public internal(set) var bufferedBytes = 0
    private(set) var responseWriter = ResponseWriter(second: time(nil))
    /// The number of sweeps so far: the clock of all timeouts.
    private(set) var sweep: UInt32 = 0
    private var sweepPosition = 0
    private var isSweeping = false

    private static let reservedDescriptors = 128
    private var maximumConnections = 0
    private var listener: Listener?
    private var drainCompletion: (@Reactor () -> Void)?

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

    /// Starts accepting at `address`, such as `0.0.0.0:8080`; port 0 chooses a free one.
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

    /// Stops accepting, sends the outstanding responses, and calls `completion` when no connection is left, or after
    /// `deadline`. The WebSocket handler closes its WebSockets itself.
    public func drain(deadline: Duration, completion: @escaping @Reactor () -> Void) {
        isDraining = true
        drainCompletion = completion
        listener?.close()
        for connection in connections.connections(in: 0..<connections.size) { connection.drain() }
        Reactor.after(deadline) { [self] in closeAll() }
        connectionEnded()
    }

    /// Drains the server and suspends until no connection is left.
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

    /// Called by a connection that was removed from the table.
    func connectionEnded() {
        guard isDraining, connections.count == 0, let completion = drainCompletion else { return }
        drainCompletion = nil
        isSweeping = false
        completion()
    }

    // MARK: Accepting

    private func accept(_ socket: StreamSocket, from peer: IPAddress?) {
        guard connections.count < maximumConnections else { return reject(socket, Self.connectionLimitResponse) }
        let isProxy = peer.map { peer in limits.trustedProxies.contains { $0.contains(peer) } } ?? false
        let index = connections.makeIndex()
        guard isProxy || admits(index, from: peer, fromProxyHeader: false) else {
            connections.remove(index)
            return reject(socket, Self.addressLimitResponse)
        }
        socket.setNoDelay()
        statistics.accepted += 1
        let connection = HTTPConnection(socket, from: peer, behindProxy: isProxy, at: index, of: self)
        connections.replace(index, with: connection)
    }

    /// Counts a connection for its client's address. Returns false when the address is at its limit.
    func admits(_ index: ConnectionTable.Index, from client: IPAddress?, fromProxyHeader: Bool) -> Bool {
        guard let client, fromProxyHeader || !client.isPrivate else { return true }
        return connections.count(index, for: client.client)
    }

    static let connectionLimitResponse: StaticString = """
        HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: 104\r\n\
        Retry-After: 1\r\nConnection: close\r\n\r\n\
        {"status":503,"title":"Too many connections","detail":"the server is at its limit","code":"overloaded"}\n
        """

    static let addressLimitResponse: StaticString = """
        HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nContent-Length: 106\r\n\
        Retry-After: 1\r\nConnection: close\r\n\r\n\
        {"status":429,"title":"Too many connections","detail":"the address is at its limit","code":"rateLimited"}\n
        """

    /// Sends the reason with a single write: a refused connection must not cost more.
    private func reject(_ socket: StreamSocket, _ response: StaticString) {
        countRefusal(response)
        _ = socket.write(UnsafeRawBufferPointer(response))
        socket.endWriting()
        Glibc.close(socket.descriptor)
    }

    func countRefusal(_ response: StaticString) {
        if response.utf8Start == Self.connectionLimitResponse.utf8Start {
            statistics.refusedConnections += 1
        } else {
            statistics.refusedByAddress += 1
        }
    }

    /// Raises the soft limit on descriptors, usually 1,024, and returns the number available for connections.
    /// `reservedDescriptors` stay free for everything else: without them the process could not reconnect to its database.
    private func connectionLimit() -> Int {
        var descriptors = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 else {
            return limits.connections
        }
        descriptors.rlim_cur = descriptors.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        return min(limits.connections, max(1, Int(clamping: descriptors.rlim_cur) - Self.reservedDescriptors))
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
    let head, request, stream, firstRequest, bodyGrace, idle, write, close, ping, silence: UInt32
    /// The bytes per sweep at the slowest accepted rate.
    private let slowestBytes: Int

    /// The sweeps that a peer may take for `bytes`, beyond `grace`.
    func patience(_ grace: UInt32, for bytes: Int) -> UInt32 { grace &+ UInt32(clamping: bytes / slowestBytes) }

    init(_ limits: ServerLimits) {
        firstRequest = limits.sweeps(in: limits.firstRequestTimeout)
        bodyGrace = limits.sweeps(in: limits.bodyGrace)
        slowestBytes = max(1, Int(Double(limits.slowestRate) * (limits.sweepInterval / .seconds(1))))
        head = limits.sweeps(in: limits.headTimeout)
        request = limits.sweeps(in: limits.requestTimeout)
        stream = limits.sweeps(in: limits.streamTimeout)
        idle = limits.sweeps(in: limits.idleTimeout)
        write = limits.sweeps(in: limits.writeTimeout)
        close = limits.sweeps(in: limits.closeTimeout)
        ping = limits.sweeps(in: limits.pingInterval)
        silence = limits.sweeps(in: limits.silenceTimeout)
    }
}
