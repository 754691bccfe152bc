import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// `POST /v1/import` on its way: an `ImportStream` between a client, the stores and the receipt services.
///
/// A request that a service has no time for is repeated, as long as `patience`. If the client goes away, what is on its
/// way is stored, and the client finds that out by repeating the lines without a result.
@Reactor
final class ImportCall: StreamHandler {
    private static let pause = Duration.milliseconds(250)
    /// Results written at a time.
    private static let resultBytes = 16 * 1024

    private unowned let ingest: IngestService
    private let account: UserAccount
    private let token: Identity
    private let act: AuditedAct?
    private let trace: TraceContext?
    /// How long a service may be away before the lines that wait for it get 503: longer than another takes its place, and
    /// shorter than proxies wait for a server that says nothing.
    private let patience: Duration
    private let weight: Int
    /// Bytes that count as arriving as long as this lives, whatever of it is used.
    private let heldBytes: Int
    private let begun = MonotonicTime.now

    private var state: ImportStream
    private var stream: RequestStream?
    private var hasBegun = false
    private var isBodyComplete = false
    /// Whether no more of the body is taken, because the token is valid no longer.
    private var isStopped = false
    private var isClosed = false
    /// Whether the import is in the audit log, so that it may begin.
    private var isRecorded = false

    init(
        _ ingest: IngestService, _ account: UserAccount, _ token: Identity, _ act: AuditedAct?, _ trace: TraceContext?,
        holding bytes: Int
    ) {
        self.ingest = ingest
        self.account = account
        self.token = token
        self.act = act
        self.trace = trace
        patience = ingest.patience
        heldBytes = bytes
        weight = account.weight(of: .importRecords)
        var bounds = ImportStream.Bounds()
        bounds.bytes = bytes
        bounds.bytesPerRequest = min(bounds.bytesPerRequest, bytes / 2)
        bounds.lineBytes = min(bounds.lineBytes, max(ingest.limits.bodyBytes, bytes / 2))
        state = ImportStream(limits: ingest.limits, bounds: bounds)
        account.begin(weight: weight, bytes: 0)
        ingest.load.arrived(bytes: bytes)
        ingest.metrics.importBegan()
    }

    // MARK: The client

    func opened(_ stream: RequestStream) {
        self.stream = stream
        guard let act else { preconditionFailure("administrators import, and every import is recorded") }
        act.record { [self] problem in
            guard !isClosed else { return }
            isRecorded = problem == nil
            if let problem { refuse(problem) } else { advance() }
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard !isStopped else { return }
        guard ingest.authenticator.isValid(token) else {
            isStopped = true
            return advance()
        }
        state.take(bytes)
        advance()
    }

    func bodyEnded() {
        isBodyComplete = true
        if !isStopped { state.finish() }
        advance()
    }

    func drained() { advance() }

    func closed() {
        isClosed = true
        stream = nil
        account.end(weight: weight, bytes: 0)
        ingest.load.endedArriving(bytes: heldBytes)
        ingest.metrics.importEnded()
    }

    // MARK: Progress

    private func advance() {
        guard !isClosed else { return }
        guard isRecorded else {
            if state.isFull { stream?.pause() }
            return
        }
        while let request = state.nextRequest() { send(request, since: .now) }
        writeResults()
        guard let stream else { return }
        if state.isDone, isStopped {
            return refuse(Problem(.unauthenticated, "Authorization: the token is valid no longer"))
        }
        if state.isDone, isBodyComplete { return end() }
        state.isFull || isStopped ? stream.pause() : stream.resume()
    }

    private func writeResults() {
        var buffer = ByteBuffer(capacity: Self.resultBytes)
        while let stream, state.hasResults, !stream.isCongested {
            buffer.removeAll()
            let written = state.writeResults(to: &buffer, upTo: Self.resultBytes)
            ingest.metrics.imported(stored: written.stored, refused: written.refused)
            begin()
            stream.write(buffer.bytes)
        }
    }

    private func begin(_ status: Int = 200, _ type: ContentType = .lines, headers: [ResponseHeader] = []) {
        guard !hasBegun else { return }
        hasBegun = true
        act?.end(status: status)
        stream?.begin(status, type, headers: headers)
        ingest.metrics.responded(status, after: .now - begun)
    }

    private func end() {
        begin()
        stream?.end()
    }

    /// Ends the call. A response that has begun stays incomplete.
    private func refuse(_ problem: Problem) {
        isStopped = true
        defer { stream = nil }
        guard !hasBegun else {
            stream?.abandon()
            return
        }
        let challenge = problem.code == .unauthenticated ? [Authenticator.tokenIsInvalid] : []
        begin(Int(problem.code.status), .problem, headers: challenge + Refusal.retryHeaders(of: problem))
        var body = ByteBuffer()
        problem.writeJSON(to: &body)
        stream?.write(body.bytes)
        stream?.end()
    }

    // MARK: The services

    private func send(_ request: ImportStream.Request, since start: MonotonicTime) {
        let slot = request.conversation.slot, deadline = ingest.deadline
        let fields = { (buffer: inout ByteBuffer) in request.write(to: &buffer) }
        let completion = { @Reactor [self] (outcome: RequestOutcome) in
            received(outcome.result, for: request, since: start)
        }
        switch request.destination {
        case .store:
            ingest.bus.request(
                StoreRequestKind.importRecords, in: slot, deadline: deadline, trace: trace, fields: fields,
                completion: completion)
        case .receipt:
            ingest.bus.request(
                ReceiptRequestKind.importReceipts, in: slot, deadline: deadline, fields: fields, completion: completion)
        }
    }

    private func received(
        _ result: Result<BusResponse, Problem>, for request: ImportStream.Request, since start: MonotonicTime
    ) {
        // The client is gone: nobody is to be told, and nothing more is sent.
        guard !isClosed else { return }
        let isLate = .now - start >= patience
        switch result {
        case .success(let response) where response.status != 503 || isLate:
            state.receive(status: response.status, response.payload.bytes, for: request)
        case .failure(let problem) where isLate:
            state.fail(request, with: problem)
        default:
            ingest.metrics.importRepeats()
            Reactor.after(Self.pause) { [self] in if !isClosed { send(request, since: start) } }
            return
        }
        advance()
    }
}

extension IngestService {
    /// Bytes that one import may hold: lines that wait for a store. Of a small limit, a part of it.
    private var importBytes: Int { min(2 << 20, load.limit.bytes / 4) }

    /// Serves an import. Unlike other bodies, its body has no end that could be waited for.
    func admitImport(_ request: Request, _ route: Route) -> RequestAdmission {
        do throws(Problem) {
            let account = try account(for: request, .importRecords, bodyBytes: 0)
            let token = try authenticator.token(of: request)
            guard load.hasRoom(arrivingBytes: importBytes) else { throw .processOverloaded }
            let trace = request[.traceParent].flatMap { TraceContext(traceparent: $0) }
            let act = try act(of: request, route, patience: patience)
            return .streamed(ImportCall(self, account, token, act, trace, holding: importBytes))
        } catch {
            return refused(Refusal(error, headers: challenges(error, request)))
        }
    }

    /// Takes away a piece of an import that has not ended. Repeated, the next one.
    ///
    /// The import is closed first, so that no receipt is stored behind those that are taken away; then its receipts go,
    /// and then all else.
    func dropImport(of conversation: ConversationID, _ exchange: Exchange) {
        drop(conversation, receiptsAreGone: false, exchange) { [self] in
            dropReceipts(of: conversation, exchange) { [self] in
                drop(conversation, receiptsAreGone: true, exchange) {
                    exchange.forward(status: 202, UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
        }
    }

    /// Calls `next` when more is left, and otherwise forwards the response.
    private func drop(
        _ conversation: ConversationID, receiptsAreGone: Bool, _ exchange: Exchange, next: @escaping @Reactor () -> Void
    ) {
        let command = DropImport(conversation, receiptsAreGone: receiptsAreGone)
        request(
            .dropImport, in: conversation.slot, size: 0, exchange, fields: { command.write(to: &$0) },
            completion: { result in
                switch result {
                case .success(let response) where response.status == 202: next()
                default: exchange.forward(result)
                }
            })
    }

    /// Calls `next` when no receipt is left, and otherwise forwards the response.
    private func dropReceipts(
        of conversation: ConversationID, _ exchange: Exchange, next: @escaping @Reactor () -> Void
    ) {
        let command = DropReceipts(conversation)
        request(
            ReceiptRequestKind.dropReceipts, in: conversation.slot, exchange, fields: { command.write(to: &$0) },
            completion: { result in
                switch result {
                case .success(let response) where response.status == 204: next()
                default: exchange.forward(result)
                }
            })
    }
}
