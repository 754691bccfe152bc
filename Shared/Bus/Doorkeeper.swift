import CZMQ
import Reactor
import Wire

/// Decides who may listen to this process (ZAP, ZeroMQ RFC 27). CURVE by itself admits whoever knows our public key; this
/// admits the keys of the roles that are meant to listen, and nobody else.
///
/// libzmq asks for every connection that completed its handshake, in messages of this process, and holds the connection
/// back until it is answered.
@Reactor
final class Doorkeeper: DescriptorHandler {
    /// Where libzmq looks for a handler (RFC 27).
    private static let endpoint = "inproc://zeromq.zap.01"
    private static let version = Array("1.0".utf8)
    /// version · request id · domain · address · identity · mechanism · credentials
    private static let requestParts = 7

    private let socket: Socket
    private let descriptor: CInt
    private let listeners: [BusKey: Role]
    private let onRefusal: @Reactor () -> Void

    /// Has to be there before the socket that it keeps the door of is bound.
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
            while let request = receiveRequest() { answer(request) }
        }
    }

    func close() { Reactor.forget(descriptor) }

    private func receiveRequest() -> [[UInt8]]? {
        guard let first = socket.receive() else { return nil }
        var parts = [Array(first.bytes)]
        while socket.hasMoreParts, let part = socket.receive() { parts.append(Array(part.bytes)) }
        return parts
    }

    private func answer(_ request: [[UInt8]]) {
        let role = role(in: request)
        if role == nil { onRefusal() }
        let requestID = request.count > 1 ? request[1] : []
        let (status, text) = role == nil ? ("400", "no key of a role that may listen here") : ("200", "OK")
        // version · request id · status · text · user id · metadata
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
