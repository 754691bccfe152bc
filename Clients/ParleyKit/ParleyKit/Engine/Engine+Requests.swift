import Models
import ParleyStorage
import ParleySync

extension Engine {
    /// What a request without a token is answered with: the token is asked for, and the request repeated.
    static let noToken = CallFailure.refused(
        ProblemDetails(Problem(.unauthenticated, "no token")), retryAfter: nil)

    // MARK: Synchronisation

    func request(_ id: Int, _ call: SyncCall) {
        let call = store?.completed(call) ?? call
        start { server, token in
            guard let token else { return { $0.take(SyncResponse.failure(Self.noToken), for: id) } }
            let response = await server.ask(call, token: token)
            return { $0.take($0.checked(response, token), for: id) }
        }
    }

    private func take(_ response: SyncResponse, for id: Int) {
        if case .failure = response {} else { proveToken() }
        handle([.response(id, response)])
        if case .failure = response {} else { planPump() }
    }

    /// A refusal of a token that was replaced in the meantime says nothing about the present one.
    private func checked(_ response: SyncResponse, _ used: String) -> SyncResponse {
        if case .failure(let failure) = response, failure.isUnauthenticated, used != token {
            .failure(.lost)
        } else {
            response
        }
    }

    private func checked(_ response: OutboxResponse, _ used: String) -> OutboxResponse {
        if case .failure(let failure) = response, failure.isUnauthenticated, used != token {
            .failure(.lost)
        } else {
            response
        }
    }

    func checked(
        _ result: Result<MediaResponse, CallFailure>, _ used: String
    ) -> Result<MediaResponse, CallFailure> {
        if case .failure(let failure) = result, failure.isUnauthenticated, used != token {
            .failure(.lost)
        } else {
            result
        }
    }

    /// Runs a request beside the engine, and what it returns on it, unless everything began anew meanwhile.
    func start(
        _ body: @escaping @Sendable (any Server, String?) async -> @Sendable (isolated Engine) -> Void
    ) {
        lastCall += 1
        let (number, incarnation) = (lastCall, incarnation)
        calls[number] = Task { [server, token] in
            let finish = await body(server, token)
            self.finish(number, incarnation, finish)
        }
    }

    private func finish(_ number: Int, _ started: Int, _ finish: @Sendable (isolated Engine) -> Void) {
        calls[number] = nil
        guard store != nil, started == incarnation else { return }
        finish(self)
    }

    func cancelCalls() {
        for call in calls.values { call.cancel() }
    }

    // MARK: The outbox

    /// Looks into the outbox soon: not before the one who wrote has its response.
    func planPump() {
        guard !isPumpPlanned, isActive else { return }
        isPumpPlanned = true
        Task { self.pump() }
    }

    func pump() {
        isPumpPlanned = false
        guard isActive, let store else { return }
        do throws(StorageError) {
            try pumpUploads()
            sender.passTime(clock.now)
            let rows = try store.sendable(limit: OutboxSender.rowsToPlan)
            guard !rows.isEmpty else { return finishCatchUps() }
            guard token != nil else { return needToken(isFresh: false) }
            // A session will say whose it is.
            guard isTokenOfUser else { return finishCatchUps() }
            let planned = sender.plan(rows, at: clock.now)
            // From here on the server may know them.
            let untried = planned.flatMap(\.call.rows).filter { !$0.wasTried }.map(\.key)
            if !untried.isEmpty { try store.markTried(untried) }
            for (id, call) in planned { submit(id, call) }
            // The server does not take them at the moment.
            if sender.isWaiting || uploader.isPaused { finishCatchUps() }
        } catch {
            return fail(error)
        }
        scheduleWake()
    }

    private func submit(_ id: Int, _ call: OutboxCall) {
        start { server, token in
            guard let token else { return { $0.take(OutboxResponse.failure(Self.noToken), for: id) } }
            let response = await server.carryOut(call, token: token)
            return { $0.take($0.checked(response, token), for: id) }
        }
    }

    private func take(_ response: OutboxResponse, for id: Int) {
        guard let store else { return }
        let step = sender.handle(response, for: id, at: clock.now)
        var begun: [ConversationID] = []
        do throws(StorageError) {
            try store.write { () throws(StorageError) in
                for (row, response) in step.completed where try store.complete(row, with: response) {
                    if let id = row.conversation { begun.append(id) }
                }
                for (row, problem) in step.refused { try store.refuse(row, problem) }
            }
        } catch {
            return fail(error)
        }
        if !step.completed.isEmpty { proveToken() }
        hub.raise(step.topics)
        if step.needsFreshToken { needToken(isFresh: true) }
        if !begun.isEmpty { handle(begun.map(SyncEvent.created)) }
        pump()
        scheduleWake()
    }

    // MARK: For somebody who waits

    /// Asks the server once. A token that is refused is replaced, once.
    func ask<Response>(_ inquiry: Inquiry<Response>) async throws(ParleyError) -> Response {
        try await asking { server, token in await server.ask(inquiry, token: token) }
    }

    func ask(_ call: MediaCall) async throws(ParleyError) -> MediaResponse {
        try await asking { server, token in await server.carryOut(call, body: nil, sha256: [], token: token) }
    }

    private func asking<Response: Sendable>(
        _ body: @Sendable (any Server, String) async -> Result<Response, CallFailure>
    ) async throws(ParleyError) -> Response {
        for attempt in 1...2 {
            guard store != nil else { throw .closed }
            guard let token = await tokenForCaller() else { throw .unreachable }
            switch await body(server, token) {
            case .success(let response):
                proveToken()
                return response
            case .failure(let failure) where failure.isUnauthenticated && attempt == 1:
                if self.token == token { self.token = nil }
            case .failure(.lost): throw .unreachable
            case .failure(.refused(let problem, _)): throw .refused(problem)
            }
        }
        throw .unreachable
    }

    /// The present token, or a fresh one.
    private func tokenForCaller() async -> String? {
        if token == nil {
            needToken(isFresh: true)
            await waitForToken()
        }
        return token
    }
}

extension OutboxStep {
    fileprivate var topics: Set<Topic> {
        var topics: Set<Topic> = []
        for row in completed.map(\.row) + refused.map(\.row) {
            topics.insert(row.conversation.map { .conversation($0) } ?? .settings(nil))
            if row.write.kind == "block" { topics.insert(.everything) }
            if let id = row.conversation {
                if row.write.kind == "send" { topics.insert(.receipts(id)) }
                if row.write.kind == "member" { topics.insert(.members(id)) }
                if row.write.kind == "settings" { topics.insert(.settings(id)) }
            }
        }
        if refused.contains(where: { $0.row.write.kind != "send" }) { topics.insert(.refusals) }
        return topics
    }
}
