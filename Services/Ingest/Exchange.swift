import Bus
import Bytes
import Edge
import JSON
import Models
import Reactor
import ServiceKit
import Wire

/// A request and the means to respond to it.
@Reactor
struct Exchange {
    private let responder: Responder
    private let metrics: IngestMetrics
    private let log: Log
    let call: Call
    /// The caller's account; nil for a call that needs no token.
    let account: UserAccount?
    let bodyBytes: Int
    /// Of an administrator, as far as it belongs into the audit log.
    var act: AuditedAct?
    /// Asks the application before what the request brings is stored.
    var hook: IngestService.Hook?
    /// How many people its user may bring into conversations within a day, because their account is new. Nil: any number.
    var peoplePerDay: Int?
    /// Present when the request is traced in the logs.
    let trace: TraceContext?
    private let begun = MonotonicTime.now

    init(_ request: Request, _ responder: Responder, _ call: Call, _ metrics: IngestMetrics, _ log: Log) {
        self.responder = responder
        self.call = call
        account = request.account as? UserAccount
        bodyBytes = request.body.count
        self.metrics = metrics
        self.log = log
        trace = request[.traceParent].flatMap { TraceContext(traceparent: $0) }
    }

    func began() {
        if let trace { log.info("traced: received", trace, [LogField("call", describing: call)]) }
    }

    func respond(_ status: Int, json body: borrowing ByteBuffer) { respond(status, .json, [], body.bytes) }

    func respond(_ problem: Problem, headers: [ResponseHeader] = []) {
        var body = ByteBuffer()
        problem.writeJSON(to: &body)
        let retry = problem.retryAfter.map { [ResponseHeader.retryAfter(seconds: $0)] } ?? []
        respond(Int(problem.code.status), .problem, headers + retry, body.bytes)
    }

    /// Forwards a store's client JSON unchanged, or its problem.
    func forward(status: UInt16, _ payload: UnsafeRawBufferPointer) {
        if status < 400 { return respond(Int(status), .json, [], payload) }
        var reader = ByteReader(payload)
        respond((try? Problem(from: &reader)) ?? .unreadableResponse)
    }

    private func respond(
        _ status: Int, _ type: ContentType, _ headers: [ResponseHeader], _ body: UnsafeRawBufferPointer
    ) {
        act?.end(status: status)
        responder.respond(status, type, headers: headers, body: body)
        metrics.responded(status, after: .now - begun)
        if let trace { log.info("traced: responded", trace, [LogField("status", status)]) }
    }
}
