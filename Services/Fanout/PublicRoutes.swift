import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// The HTTP side of a fanout: health, readiness and metrics beside the WebSocket.
@Reactor
final class PublicRoutes: HTTPHandler {
    private unowned let service: Service

    init(_ service: Service) { self.service = service }

    func admit(_: Request) -> RequestAdmission { .admitted(bodyBytes: 0) }

    func handle(_ request: Request, _ responder: Responder) {
        guard !service.answerAdministration(request, responder) else { return }
        if request.target.path.elementsEqual(UnsafeRawBufferPointer("/v1/socket")) {
            return request.method == .get ? askForUpgrade(responder) : refuseMethod(responder)
        }
        answer(responder, Problem(.notFound, "there is no such resource"))
    }

    /// The server opens WebSockets by itself; what arrives here asked for none (RFC 9110, 15.5.22).
    private func askForUpgrade(_ responder: Responder) {
        let headers = [ResponseHeader("Upgrade", "websocket"), ResponseHeader("Sec-WebSocket-Version", "13")]
        answer(responder, Problem(.invalid, "this resource is a WebSocket: Upgrade must be websocket"), 426, headers)
    }

    private func refuseMethod(_ responder: Responder) {
        answer(responder, Problem(.invalid, "only GET is allowed here"), 405, [ResponseHeader("Allow", "GET")])
    }

    private func answer(
        _ responder: Responder, _ problem: Problem, _ status: Int? = nil, _ headers: [ResponseHeader] = []
    ) {
        var body = ByteBuffer()
        problem.writeJSON(to: &body, status: status)
        responder.answer(status ?? Int(problem.code.status), .problem, headers: headers, body: body)
    }
}
