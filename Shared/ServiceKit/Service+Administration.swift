import Bytes
import Edge
import Reactor

/// The routes that every service serves without a token: `/healthz`, `/readyz`, `/metrics`.
extension Service {
    /// Responds to `request` if it is for one of these routes. For `ingest` and `fanout`, which serve other routes too.
    ///
    /// - Returns: whether it was for one of them.
    public func respondToAdministration(_ request: Request, _ responder: Responder) -> Bool {
        switch request.target.path {
        case "/healthz": respond(to: request, responder, writeHealth)
        case "/readyz": respond(to: request, responder, writeReadiness)
        case "/metrics": respond(to: request, responder, writeMetrics)
        default: return false
        }
        return true
    }

    /// Whether `request` is for one of these routes.
    public func isAdministration(_ request: Request) -> Bool {
        switch request.target.path {
        case "/healthz", "/readyz", "/metrics": true
        default: false
        }
    }

    /// Serves only these routes, for `store` and `receipt`.
    public func serveAdministration(at address: ListenAddress) throws(ListenError) {
        let handler = AdministrationHandler(self)
        var limits = ServerLimits()
        limits.connections = 64
        let server = Server(handler, limits: limits)
        try server.listen(at: address.description)
        // Kept until the process exits: a draining service still serves its metrics.
        administration = (server, handler)
    }

    private func respond(to request: Request, _ responder: Responder, _ body: (Responder) -> Void) {
        guard request.method == .get else {
            return responder.respond(
                405, .problem, headers: [ResponseHeader("Allow", "GET, HEAD")],
                body: UnsafeRawBufferPointer(Problem.method))
        }
        body(responder)
    }

    private func writeHealth(_ responder: Responder) {
        var body = ByteBuffer()
        body.append("{\"status\":\"ok\"}" as StaticString)
        responder.respond(200, body: body)
    }

    private func writeReadiness(_ responder: Responder) {
        var body = ByteBuffer()
        let isReady = health.write(to: &body)
        responder.respond(isReady ? 200 : 503, headers: isReady ? [] : [.retryAfter(seconds: 1)], body: body)
    }

    private func writeMetrics(_ responder: Responder) {
        var body = ByteBuffer(capacity: 16 * 1024)
        metrics.write(to: &body)
        responder.respond(200, .metrics, body: body)
    }
}

@Reactor
final class AdministrationHandler: HTTPHandler {
    private unowned let service: Service

    init(_ service: Service) { self.service = service }

    func admit(_: Request) -> RequestAdmission { .admitted(bodyBytes: 0) }

    func handle(_ request: Request, _ responder: Responder) {
        if !service.respondToAdministration(request, responder) {
            responder.respond(404, .problem, body: UnsafeRawBufferPointer(Problem.notFound))
        }
    }
}

/// The problems of these routes (RFC 9457), in the contract's form.
private enum Problem {
    static let notFound: StaticString =
        #"{"status":404,"title":"Not found","detail":"there is no such resource","code":"notFound"}"#
    static let method: StaticString =
        #"{"status":405,"title":"Method not allowed","detail":"only GET is allowed here","code":"invalid"}"#
}

private func ~= (path: StaticString, requested: UnsafeRawBufferPointer) -> Bool {
    requested.isEqual(to: path)
}
