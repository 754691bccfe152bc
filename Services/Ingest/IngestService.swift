import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// Answers the calls of the client contract: decides what can be decided here, and asks the store or the receipt
/// service for the rest.
///
/// In this order: path and method, room for the request, the caller, how much the caller asks for, the fields. So a
/// refusal costs as little as possible.
@Reactor
final class IngestService: HTTPHandler {
    let bus: Bus
    let limits: ClientLimits
    let deadline: Duration
    private let service: Service
    private let authenticator: Authenticator
    let erased: ErasedUsers
    let revoked: RevokedTokens
    private let metrics: IngestMetrics
    private var rate: RateLimiter
    var load: Load

    init(_ service: Service, _ configuration: IngestConfiguration, bus: Bus) {
        self.service = service
        self.bus = bus
        limits = configuration.limits
        deadline = configuration.deadline
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: configuration.tokens.longestLifetime)
        authenticator = Authenticator(configuration.tokens, erased, revoked)
        rate = RateLimiter(configuration.rate)
        load = Load(configuration.load)
        metrics = IngestMetrics(service.metrics)
        service.metrics.gauge("parley_ingest_requests_in_flight", "Requests waiting for an answer") { [unowned self] in
            Double(load.requests)
        }
    }

    /// Begins to listen to the bus.
    func start() {
        bus.onFrame = { [erased, revoked] frame in
            switch frame.topic {
            case .erasure: erased.receive(frame)
            case .revocation: revoked.receive(frame)
            default: break
            }
        }
        erased.start()
        revoked.start()
        authenticator.watchKeys(service.log)
    }

    func maximumBodyBytes(for request: Request) -> Int {
        if case .route(let route) = Route.find(request.method, request.target.path), route.call == .sendBatch {
            return limits.batchBytes
        }
        return limits.bodyBytes
    }

    func handle(_ request: Request, _ responder: Responder) {
        let exchange = Exchange(request, responder, metrics, service.log)
        switch Route.find(request.method, request.target.path) {
        case .route(let route):
            exchange.began(route.call)
            answer(request, route, exchange)
        case .methodNotAllowed(let allowed):
            exchange.answerMethodNotAllowed(allowed)
        case .notFound:
            if service.answerAdministration(request, responder) { return }
            exchange.answer(Problem(.notFound, "there is no such resource"))
        }
    }

    private func answer(_ request: Request, _ route: Route, _ exchange: Exchange) {
        do throws(Problem) {
            guard route.call.needsToken else { return answerPublicly(route.call, exchange) }
            guard load.hasRoom(bytes: request.body.count) else {
                throw Problem(.overloaded, "ingest has too much to do")
            }
            let user =
                route.call.isForAdministrators
                ? try authenticator.administrator(of: request) : try authenticator.user(of: request)
            if !route.call.isPaidByContent { try admit(user, cost: 1) }
            try answer(request, route, user, exchange)
        } catch {
            let headers = error.code == .unauthenticated ? [Authenticator.challenge(request)] : []
            exchange.answer(error, headers: headers)
        }
    }

    func admit(_ user: UserID, cost: Int) throws(Problem) {
        guard rate.admit(user, cost: cost, at: .now) else {
            throw Problem(.rateLimited, "more requests than a user may make")
        }
    }

    private func answer(
        _ request: Request, _ route: Route, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = QueryParameters(request.target)
        switch route.call {
        case .limits, .document: preconditionFailure("answered without a caller")
        case .createConversation: try createConversation(request.body, user, exchange)
        case .listConversations: try listConversations(query, user, exchange)
        case .sync: try sync(query, user, exchange)
        case .eraseUser: eraseUser(try route.user(), exchange)
        case .revokeTokens: try revokeTokens(of: try route.user(), request.body, exchange)
        case .search: try search(query, user, exchange)
        case .conversation: try conversation(try route.conversation(), user, exchange)
        case .members: try members(try route.conversation(), query, user, exchange)
        case .send: try send(request.body, to: try route.conversation(), user, exchange)
        case .sendBatch: try sendBatch(request.body, user, exchange)
        case .history: try history(try route.conversation(), query, user, exchange)
        case .message: try message(try route.message(), in: try route.conversation(), user, exchange)
        case .changes: try changes(try route.conversation(), query, user, exchange)
        case .digest: try digest(try route.conversation(), query, user, exchange)
        case .receipts: try receipts(request.body, in: try route.conversation(), user, exchange)
        case .revisions: try revisions(try route.message(), in: try route.conversation(), user, exchange)
        case .tapbacks: try tapbacks(try route.message(), in: try route.conversation(), query, user, exchange)
        case .messageReceipts: try receipts(try route.message(), in: try route.conversation(), query, user, exchange)
        case .settings: settings(user, exchange)
        case .putSettings: try putSettings(request, user, exchange)
        case .conversationSettings: settings(in: try route.conversation(), user, exchange)
        case .rename, .putMember, .removeMember, .clearHistory, .putConversationSettings, .edit, .delete, .setTapback,
            .removeTapback:
            try write(request, route, query, user, exchange)
        }
    }

    private func answerPublicly(_ call: Call, _ exchange: Exchange) {
        var body = ByteBuffer()
        if call == .limits { limits.write(to: &body) } else { body.append(PackageResources.openapi_json) }
        exchange.answer(200, json: body)
    }
}
