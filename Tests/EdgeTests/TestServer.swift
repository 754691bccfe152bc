import Bytes
import Edge
import Reactor
import TestSupport

/// A server whose handler responds as the path says.
@Reactor
final class TestServer: HTTPHandler, WebSocketHandler {
    private(set) var server: Server!
    private(set) var port = 0
    private var later: [Responder] = []
    private(set) var socketsClosed = 0
    private(set) var socketsTooSlow = 0
    private(set) var sockets: [WebSocket] = []
    var isAdmitting = true
    private(set) var admitted = 0

    init(_ limits: ServerLimits = ServerLimits()) {
        server = Server(self, webSockets: self, limits: limits)
        port = try! server.listen(at: "127.0.0.1:0")
    }

    nonisolated static func start(
        _ change: @Sendable (inout ServerLimits) -> Void = { _ in }
    ) async -> (TestServer, Int) {
        ReactorThread.start()
        var limits = ServerLimits()
        change(&limits)
        let server = await TestServer(limits)
        return (server, await server.port)
    }

    /// The account of bodies to `/held`.
    let account = TestAccount()

    func admit(_ request: Request) -> RequestAdmission {
        admitted += 1
        switch String(decoding: request.target.path, as: UTF8.self) {
        case "/large": return .admitted(bodyBytes: 100_000)
        case "/held": return .admitted(bodyBytes: 10_000_000, account)
        case "/stream": return .streamed(stream("echo"))
        case "/stream/counted": return .streamed(stream("counted"))
        case "/stream/early": return .streamed(stream("early"))
        case "/stream/broken": return .streamed(stream("broken"))
        case "/stream/flood": return .streamed(stream("flood"))
        case "/stream/paused": return .streamed(stream("paused"))
        case "/refused":
            var body = ByteBuffer()
            body.append("no" as StaticString)
            return .refused(Refusal(403, .text, headers: [], body: body))
        case "/unauthenticated":
            request.connection.authenticationFailed()
            return .admitted(bodyBytes: 0)
        default: return .admitted(bodyBytes: 1000)
        }
    }

    private(set) var streams: [TestStream] = []

    private func stream(_ behaviour: String) -> TestStream {
        streams.append(TestStream(behaviour))
        return streams[streams.count - 1]
    }

    func handle(_ request: Request, _ responder: Responder) {
        switch String(decoding: request.target.path, as: UTF8.self) {
        case "/later": later.append(responder)
        case "/release":
            for responder in later.reversed() { respond(responder, "later") }
            later = []
            respond(responder, "released")
        case "/nothing": responder.respond(204)
        case "/twice":
            respond(responder, "first")
            respond(responder, "second")
        case "/big": respond(responder, String(repeating: "x", count: 4_000_000))
        case "/count": count(request, responder)
        case "/trust": respond(responder, request.connection.isThrottled ? "throttled" : "admitted")
        case "/size": respond(responder, "\(request.body.count)")
        default: respond(responder, "\(request.method) \(String(decoding: request.body, as: UTF8.self))")
        }
    }

    /// Responds with the number of requests on this connection, from its `userInfo`.
    private func count(_ request: Request, _ responder: Responder) {
        let counter = request.connection.userInfo as? Counter ?? Counter()
        request.connection.userInfo = counter
        counter.value += 1
        respond(responder, "\(counter.value)")
    }

    private final class Counter { var value = 0 }

    private func respond(_ responder: Responder, _ text: String) {
        var text = text
        text.withUTF8 { responder.respond(200, .text, body: UnsafeRawBufferPointer($0)) }
    }

    // MARK: WebSockets

    func admits(_: Request) -> Bool { isAdmitting }

    func opened(_ socket: WebSocket) {
        sockets.append(socket)
        socket.maximumMessageBytes = 100_000
        socket.send(.text(UnsafeRawBufferPointer("welcome")))
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket) {
        switch String(decoding: text, as: UTF8.self) {
        case "close": socket.close(.goingAway, reason: "as asked")
        case "pause": socket.pauseReading()
        case "small": socket.maximumMessageBytes = 10
        case "flood":
            let frame = WebSocketFrame.text(UnsafeRawBufferPointer("0123456789abcdef"))
            for _ in 0..<400_000 where socket.isOpen { socket.send(frame) }
        default: socket.send(.text(UnsafeRawBufferPointer("echo "), text))
        }
    }

    func isTooSlow(_ socket: WebSocket) {
        socketsTooSlow += 1
        socket.send(.text(UnsafeRawBufferPointer("bye")))
    }

    func closed(_: WebSocket) { socketsClosed += 1 }
}

/// An account with room for 100,000 bytes.
@Reactor
final class TestAccount: RequestAccount {
    private(set) var held = 0
    private(set) var most = 0

    nonisolated init() {}

    func hold(bodyBytes: Int, of _: Int) -> Refusal? {
        guard held + bodyBytes <= 100_000 else {
            return Refusal(429, .text, headers: [], body: ByteBuffer())
        }
        held += bodyBytes
        most = max(most, held)
        return nil
    }

    func release(bodyBytes: Int) { held -= bodyBytes }
}

/// A streamed request that does with its body what its name says.
@Reactor
final class TestStream: StreamHandler {
    private let behaviour: String
    private var stream: RequestStream?
    private var flooded = 0
    private(set) var received = 0
    private(set) var largestPiece = 0
    private(set) var hasEnded = false
    private(set) var closings = 0

    init(_ behaviour: String) { self.behaviour = behaviour }

    func opened(_ stream: RequestStream) {
        self.stream = stream
        if behaviour == "flood" || behaviour == "broken" { stream.begin(200, .lines) }
        if behaviour == "flood" { flood() }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        if received == 0, behaviour == "echo" || behaviour == "early" { stream?.begin(200, .lines) }
        received += bytes.count
        largestPiece = max(largestPiece, bytes.count)
        switch behaviour {
        case "echo": stream?.write(bytes)
        case "early": stream?.end()
        case "broken": stream?.abandon()
        case "paused": stream?.pause()
        default: break
        }
    }

    func bodyEnded() {
        hasEnded = true
        if behaviour == "flood" { return }
        if received == 0 || behaviour != "echo" { stream?.begin(200, .lines) }
        if behaviour != "echo" {
            var count = String(received)
            count.withUTF8 { stream?.write(UnsafeRawBufferPointer($0)) }
        }
        stream?.end()
    }

    func drained() { flood() }

    func closed() { closings += 1 }

    func resume() { stream?.resume() }

    /// Writes 20 MB, as far as the client reads.
    private func flood() {
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        while flooded < 1000, let stream, !stream.isCongested {
            piece.withUnsafeBytes { stream.write($0) }
            flooded += 1
        }
        if flooded == 1000 { stream?.end() }
    }
}
