import Bytes
import Edge
import Reactor
import ServiceKit
import Wire

/// The HTTP side of a fanout: health, readiness and metrics beside the WebSocket.
@Reactor
final class PublicRoutes: HTTPHandler {
    private unowned let service: Service

    init(_ service: Service) { self.service = service }

    func maximumBodyBytes(for _: Request) -> Int { 0 }

    func handle(_ request: Request, _ responder: Responder) {
        guard !service.answerAdministration(request, responder) else { return }
        var body = ByteBuffer()
        Problem(.notFound, "there is no such resource").writeJSON(to: &body)
        responder.answer(Int(Problem.Code.notFound.status), .problem, body: body)
    }
}
