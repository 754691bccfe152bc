import Edge
import Reactor
import TestSupport

/// A server whose handler answers what the path asks for.
@Reactor
final class TestServer: HTTPHandler, WebSocketHandler {
    private(set) var server: Server!
    private(set) var port = 0
    private var later: [Responder] = []
    private(set) var socketsClosed = 0
    private(set) var socketsTooSlow = 0
    private(set) var sockets: [WebSocket] = []
    var isAdmitting = true

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

    func maximumBodyBytes(for request: Request) -> Int {
        request.target.path.elementsEqual("/large".utf8) ? 100_000 : 1000
    }

    func handle(_ request: Request, _ responder: Responder) {
        switch String(decoding: request.target.path, as: UTF8.self) {
        case "/later": later.append(responder)
        case "/release":
            for responder in later.reversed() { answer(responder, "later") }
            later = []
            answer(responder, "released")
        case "/nothing": responder.answer(204)
        case "/twice":
            answer(responder, "first")
            answer(responder, "second")
        case "/big": answer(responder, String(repeating: "x", count: 4_000_000))
        case "/count": count(request, responder)
        case "/size": answer(responder, "\(request.body.count)")
        default: answer(responder, "\(request.method) \(String(decoding: request.body, as: UTF8.self))")
        }
    }

    /// How often this connection asked: what is kept with a connection stays with it.
    private func count(_ request: Request, _ responder: Responder) {
        let counter = request.connection.userInfo as? Counter ?? Counter()
        request.connection.userInfo = counter
        counter.value += 1
        answer(responder, "\(counter.value)")
    }

    private final class Counter { var value = 0 }

    private func answer(_ responder: Responder, _ text: String) {
        var text = text
        text.withUTF8 { responder.answer(200, .text, body: UnsafeRawBufferPointer($0)) }
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
