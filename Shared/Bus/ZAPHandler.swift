import CZMQ
import Reactor
import Wire

/// Decides which keys may connect to this process (ZAP, ZeroMQ RFC 27). CURVE by itself admits everybody who knows our
/// public key; this handler admits only the keys of the roles that may listen.
///
/// libzmq sends a request for every connection that completed its handshake, over an in-process socket, and holds the
/// connection back until the reply.
@Reactor
final class ZAPHandler: DescriptorHandler {
    /// The endpoint at which libzmq expects the handler (RFC 27).
    private static let endpoint = "inproc://zeromq.zap.01"
    private static let version = Array("1.0".utf8)
    /// Parts: version · request id · domain · address · identity · mechanism · credentials.
    private static let requestParts = 7

    private let socket: Socket
    private let descriptor: CInt
    private let listeners: [BusKey: Role]
    private let onRefusal: @Reactor () -> Void

    /// Must be created before the socket that it protects is bound.
    init(
        listeners: [BusKey: Role], in context: Context, onRefusal: @escaping @Reactor () -> Void
    ) throws(ZeroMQError) {
        let socket = try Socket(.replier, .plain, in: context)
        try socket.bind(Self.endpoint)
        descriptor = socket.descriptor
        self.socket = socket
        self.listeners = listeners
        self.onRefusal = onRefusal
        Reactor.watch(descriptor, for: .read, handler: self)
    }

    func ready(_: Readiness) {
        while socket.isReadable {
            while let request = receiveRequest() { respond(to: request) }
        }
    }

    func close() { Reactor.forget(descriptor) }

    private func receiveRequest() -> [[UInt8]]? {
        guard let first = socket.receive() else { return nil }
        var parts = [Array(first.bytes)]
        while socket.hasMoreParts, let part = socket.receive() { parts.append(Array(part.bytes)) }
        return parts
    }

    private func respond(to request: [[UInt8]]) {
        let role = role(in: request)
        if role == nil { onRefusal() }
        let requestID = request.count > 1 ? request[1] : []
        let (status, text) = role == nil ? ("400", "the key belongs to no role that may listen") : ("200", "OK")
        // Parts: version · request id · status · text · user id · metadata.
        socket.send(
            parts: [
                Self.version, requestID, Array(status.utf8), Array(text.utf8), Array((role?.rawValue ?? "").utf8), [],
            ])
    }

    private func role(in request: [[UInt8]]) -> Role? {
        guard request.count == Self.requestParts, request[0] == Self.version, request[5] == Array("CURVE".utf8),
            request[6].count == BusKey.byteCount
        else { return nil }
        return listeners[BusKey(bytes: request[6])]
    }
}
