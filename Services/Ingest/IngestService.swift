import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// Serves the calls of the client contract: refuses what can be refused here, and forwards the rest to the store or the
/// receipt service.
///
/// The checks are ordered by cost: path and method, size, room for the request, the caller, the caller's share, all
/// from the head of a request before its body is read; then the fields.
@Reactor
final class IngestService: HTTPHandler {
    let bus: Bus
    let limits: ClientLimits
    private let userLimit: UserLimit
    let deadline: Duration
    /// How long an import or an export waits for a service that is away.
    var patience: Duration { deadline * 6 }
    private let service: Service
    let authenticator: Authenticator
    private let page: WebPage?
    private let isPageMissing: Bool
    let erased: ErasedUsers
    let revoked: RevokedTokens
    let metrics: IngestMetrics
    private var accounts: UserAccounts
    /// For the codes of invitations.
    var random = SystemRandomNumberGenerator()
    let load: Load
    let auditsSends: Bool
    /// Nil: the application is not asked about messages.
    let messageHook: ApplicationHook<MessageQuestion>?
    /// Nil: it is not asked about members.
    let consentHook: ApplicationHook<ConsentQuestion>?
    private let hookMetrics: [HookMetrics]

    init(_ service: Service, _ configuration: IngestConfiguration, bus: Bus) {
        self.service = service
        self.bus = bus
        limits = configuration.limits
        userLimit = configuration.user
        deadline = configuration.deadline
        page = WebPage(configuration.web)
        isPageMissing = configuration.web.isServed && page == nil
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: configuration.tokens.longestLifetime)
        authenticator = Authenticator(configuration.tokens, erased, revoked)
        load = Load(configuration.load)
        auditsSends = configuration.auditsSends
        accounts = UserAccounts(configuration.user, load)
        metrics = IngestMetrics(service.metrics)
        let messageMetrics = HookMetrics(service.metrics, .messages)
        let consentMetrics = HookMetrics(service.metrics, .members)
        hookMetrics = [messageMetrics, consentMetrics]
        messageHook = configuration.messageHook.map {
            ApplicationHook($0, HookQueue.Limits($0, configuration), messageMetrics, service.log)
        }
        consentHook = configuration.consentHook.map {
            ApplicationHook($0, HookQueue.Limits($0, configuration), consentMetrics, service.log)
        }
        service.metrics.gauge("parley_ingest_requests_in_flight", "Requests waiting for a response") { [unowned self] in
            Double(load.requests)
        }
        service.metrics.gauge(
            "parley_ingest_bytes_in_flight", "Bytes of bodies that are arriving or waiting for a response"
        ) { [unowned self] in
            Double(load.bytes + load.arrivingBytes)
        }
    }

    /// Starts receiving from the bus.
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
        if isPageMissing {
            service.log.warning(
                "PARLEY_WEB is set, but this executable was built without the web client: no page is served")
        }
    }

    // MARK: By the head

    func admit(_ request: Request) -> RequestAdmission {
        switch Route.find(request.method, request.target.path) {
        case .route(let route) where route.call == .importRecords: admitImport(request, route)
        case .route(let route) where route.call == .exportConversation || route.call == .exportUser:
            admitExport(request, route)
        case .route(let route): admit(request, route)
        case .methodNotAllowed(let allowed): refused(.methodNotAllowed(allowed))
        case .notFound where service.isAdministration(request): .admitted(bodyBytes: 0)
        case .notFound where page?.resource(at: request.target.path) != nil:
            request.method == .get ? .admitted(bodyBytes: 0) : refused(.methodNotAllowed("GET, HEAD"))
        case .notFound: refused(Refusal(Problem(.notFound, "there is no such resource")))
        }
    }

    private func admit(_ request: Request, _ route: Route) -> RequestAdmission {
        let call = route.call
        let limit = bodyLimit(of: call)
        let size = request.announcedBodyBytes ?? 0
        guard size <= UInt64(limit) else { return .bodyTooLarge }
        guard call.needsToken else { return .admitted(bodyBytes: limit) }
        do throws(Problem) {
            let account = try account(for: request, call, bodyBytes: Int(size))
            // After it was paid for, so that whoever tries again and again has to wait.
            try refuseSuspended(request, route, account.user)
            return .admitted(bodyBytes: limit, account)
        } catch {
            return refused(Refusal(error, headers: challenges(error, request)))
        }
    }

    private func bodyLimit(of call: Call) -> Int {
        guard call.needsToken else { return 0 }
        return call == .sendBatch ? limits.batchBytes : limits.bodyBytes
    }

    func account(for request: Request, _ call: Call, bodyBytes: Int) throws(Problem) -> UserAccount {
        guard load.hasRoom(bytes: bodyBytes) else { throw .processOverloaded }
        let now = MonotonicTime.now
        let account = accounts.account(of: try caller(of: request, call), at: now)
        account.limit = try newAccount(of: request).map { userLimit.with($0.rate) } ?? userLimit
        try account.pay(for: call, bodyBytes: bodyBytes, at: now)
        return account
    }

    /// What holds for the user because their account is new.
    private func newAccount(of request: Request) throws(Problem) -> NewAccountLimit? {
        guard let limit = limits.newAccount, try authenticator.isNew(request, within: limit.age) else { return nil }
        return limit
    }

    private func caller(of request: Request, _ call: Call) throws(Problem) -> UserID {
        // A connection with a verified token is served, whatever its address.
        if request.connection.userInfo == nil, request.connection.isThrottled {
            throw Problem(.rateLimited, "too many requests without a valid token came from this address")
        }
        do throws(Problem) {
            return call.isForAdministrators
                ? try authenticator.administrator(of: request) : try authenticator.user(of: request)
        } catch {
            if error.code == .unauthenticated { request.connection.authenticationFailed() }
            throw error
        }
    }

    private func refuseSuspended(_ request: Request, _ route: Route, _ user: UserID) throws(Problem) {
        try authenticator.refuseSuspended(request, isOpenToReaders: route.isOpen(toReader: user))
    }

    func refused(_ refusal: Refusal) -> RequestAdmission {
        metrics.responded(refusal.status, after: .zero)
        return .refused(refusal)
    }

    // MARK: The whole request

    func handle(_ request: Request, _ responder: Responder) {
        guard case .route(let route) = Route.find(request.method, request.target.path) else {
            return handleBesideContract(request, responder)
        }
        var exchange = Exchange(request, responder, route.call, metrics, service.log)
        exchange.began()
        guard let account = exchange.account else { return respondPublicly(route.call, exchange) }
        do throws(Problem) {
            // The body may have taken a minute to arrive.
            _ = try caller(of: request, route.call)
            try refuseSuspended(request, route, account.user)
            if request.announcedBodyBytes == nil {
                try account.pay(for: route.call, unannouncedBodyBytes: request.body.count, at: .now)
            }
            exchange.act = try act(of: request, route)
            exchange.hook = try hook(for: request, route.call)
            exchange.peoplePerDay = try newAccount(of: request)?.peoplePerDay
            try dispatch(request, route, account.user, exchange)
        } catch {
            exchange.respond(error, headers: challenges(error, request))
        }
    }

    /// What is no part of the client contract: health, metrics and the page.
    private func handleBesideContract(_ request: Request, _ responder: Responder) {
        guard let resource = page?.resource(at: request.target.path) else {
            _ = service.respondToAdministration(request, responder)
            return
        }
        let begun = MonotonicTime.now
        metrics.responded(resource.respond(to: request, responder), after: .now - begun)
    }

    func challenges(_ problem: Problem, _ request: Request) -> [ResponseHeader] {
        problem.code == .unauthenticated ? [Authenticator.challenge(request)] : []
    }

    private func dispatch(
        _ request: Request, _ route: Route, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = QueryParameters(request.target)
        switch route.call {
        case .limits, .document: preconditionFailure("served without a caller")
        case .importRecords, .exportConversation, .exportUser: preconditionFailure("served as a stream")
        case .dropImport: dropImport(of: try route.conversation(), exchange)
        case .createConversation: try createConversation(request.body, user, exchange)
        case .listConversations: try listConversations(query, user, exchange)
        case .sync: try sync(query, user, exchange)
        case .eraseUser: eraseUser(try route.user(), exchange)
        case .revokeTokens: try revokeTokens(of: try route.user(), request.body, exchange)
        case .suspension: try suspension(of: try route.user(), exchange)
        case .suspend: try suspend(try route.user(), request.body, exchange)
        case .liftSuspension: try suspend(SuspendUser(try route.user(), nil), exchange)
        case .createReport: try createReport(request.body, user, exchange)
        case .reports: try reports(query, user, exchange)
        case .report: report(try route.report(), in: try route.conversation(), user, exchange)
        case .acts: try acts(query, user, exchange)
        case .resolveReport:
            try resolve(try route.report(), in: try route.conversation(), request.body, user, exchange)
        case .putRetention: try putRetention(in: try route.conversation(), request.body, user, exchange)
        case .search: try search(query, user, exchange)
        case .scheduled: try scheduled(query, user, exchange)
        case .unreadTotal: unreadTotal(user, exchange)
        case .devices: try devices(request, user, exchange)
        case .endDevice: try end(.only(try route.device()), of: user, exchange)
        case .endOtherDevices: try endOtherDevices(request, user, exchange)
        case .blocks: blocks(user, exchange)
        case .block: try block(request, try route.user(), isBlocked: true, user, exchange)
        case .unblock: try block(request, try route.user(), isBlocked: false, user, exchange)
        case .requests: requests(user, exchange)
        case .profiles: try profiles(request, query, user, exchange)
        case .putProfile: try putProfile(request, user, exchange)
        case .conversation: try conversation(try route.conversation(), user, exchange)
        case .members: try members(.members, try route.conversation(), query, user, exchange)
        case .pinnedMessages: try pinnedMessages(in: try route.conversation(), query, user, exchange)
        case .mentions: try mentions(in: try route.conversation(), query, user, exchange)
        case .joinRequests: try members(.joinRequests, try route.conversation(), query, user, exchange)
        case .bans: try members(.bans, try route.conversation(), query, user, exchange)
        case .invitations: invitations(in: try route.conversation(), user, exchange)
        case .createInvitation: try createInvitation(request.body, in: try route.conversation(), user, exchange)
        case .invitation: invitation(try route.code(), user, exchange)
        case .join: try join(request, try route.code(), user, exchange)
        case .send: try send(request.body, to: try route.conversation(), user, exchange)
        case .sendBatch: try sendBatch(request.body, user, exchange)
        case .history: try history(try route.conversation(), query, user, exchange)
        case .message: try message(try route.message(), in: try route.conversation(), user, exchange)
        case .changes: try changes(try route.conversation(), query, user, exchange)
        case .digest: try digest(try route.conversation(), query, user, exchange)
        case .receipts: try receipts(request.body, in: try route.conversation(), user, exchange)
        case .revisions: try revisions(try route.message(), in: try route.conversation(), user, exchange)
        case .tapbacks: try tapbacks(try route.message(), in: try route.conversation(), query, user, exchange)
        case .votes: try votes(try route.message(), in: try route.conversation(), query, user, exchange)
        case .messageReceipts: try receipts(try route.message(), in: try route.conversation(), query, user, exchange)
        case .settings: settings(user, exchange)
        case .putSettings: try putSettings(request, user, exchange)
        case .conversationSettings: settings(in: try route.conversation(), user, exchange)
        case .rename, .unlist, .putMember, .removeMember, .clearHistory, .putConversationSettings, .edit, .delete,
            .setTapback, .removeTapback, .pinMessage, .unpinMessage, .vote, .closePoll, .mute, .unmute, .pin, .unpin,
            .archive, .unarchive,
            .markUnread,
            .unmarkUnread, .putDraft, .removeDraft, .schedule, .cancelScheduled, .acceptRequest, .declineRequest,
            .putPermissions, .putLifetime,
            .liftBan, .revokeInvitation, .declineJoinRequest:
            try write(request, route, query, user, exchange)
        }
    }

    private func respondPublicly(_ call: Call, _ exchange: Exchange) {
        var body = ByteBuffer()
        if call == .limits { limits.write(to: &body, userLimit) } else { body.append(PackageResources.openapi_json) }
        exchange.respond(200, json: body)
    }
}
