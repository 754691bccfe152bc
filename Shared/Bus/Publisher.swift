import Glibc
import Reactor

/// A PUB socket on the reactor.
///
/// It receives nothing, but libzmq processes new subscribers and their subscriptions only inside calls on the socket:
/// reading its events is such a call.
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
        // libzmq leaves the socket's file behind, and peers that match the pattern would keep connecting to it.
        if endpoint.hasPrefix("ipc://") { unlink(String(endpoint.dropFirst(6))) }
    }
}
