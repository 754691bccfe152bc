import Glibc
import Reactor

/// The PUB socket on the reactor.
///
/// It has nothing to receive, but new subscribers and their subscriptions are taken in only while one of its functions
/// runs: asking for its events does that.
@Reactor
final class Publisher: DescriptorHandler, FramePublisher {
    private let socket: Socket
    private let descriptor: CInt
    private let endpoint: String

    init(
        bind endpoint: String, _ security: Socket.Security = .plain, in context: Context
    ) throws(ZeroMQError) {
        let socket = try Socket(.publisher, security, in: context)
        try socket.bind(endpoint)
        descriptor = socket.descriptor
        self.socket = socket
        self.endpoint = endpoint
        Reactor.watch(descriptor, for: .read, handler: self)
    }

    func ready(_: Readiness) { _ = socket.isReadable }

    public func send(_ frame: UnsafeRawBufferPointer) { _ = socket.send(frame) }

    public func close() {
        Reactor.forget(descriptor)
        // libzmq leaves the file behind, and peers that look for sockets would go on connecting to it.
        if endpoint.hasPrefix("ipc://") { unlink(String(endpoint.dropFirst(6))) }
    }
}
