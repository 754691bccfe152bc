import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// The HTTP routes of a fanout beside the WebSocket: health, readiness and metrics.
@Reactor
final class PublicRoutes: HTTPHandler {
    private unowned let service: Service

    init(_ service: Service) { self.service = service }

    func admit(_: Request) -> RequestAdmission { .admitted(bodyBytes: 0) }

    func handle(_ request: Request, _ responder: Responder) {
        guard !service.respondToAdministration(request, responder) else { return }
        if request.target.path.elementsEqual(UnsafeRawBufferPointer("/v1/socket")) {
            return request.method == .get ? askForUpgrade(responder) : refuseMethod(responder)
        }
        respond(responder, Problem(.notFound, "there is no such resource"))
    }

    /// The server handles WebSocket upgrades itself; a request that arrives here asked for none (RFC 9110, 15.5.22).
    private func askForUpgrade(_ responder: Responder) {
        let headers = [ResponseHeader("Upgrade", "websocket"), ResponseHeader("Sec-WebSocket-Version", "13")]
        respond(responder, Problem(.invalid, "this resource is a WebSocket: Upgrade must be websocket"), 426, headers)
    }

    private func refuseMethod(_ responder: Responder) {
        respond(responder, Problem(.invalid, "only GET is allowed here"), 405, [ResponseHeader("Allow", "GET")])
    }

    private func respond(
        _ responder: Responder, _ problem: Problem, _ status: Int? = nil, _ headers: [ResponseHeader] = []
    ) {
        var body = ByteBuffer()
        problem.writeJSON(to: &body, status: status)
        responder.respond(status ?? Int(problem.code.status), .problem, headers: headers, body: body)
    }
}
