import Bus
import Bytes
import Edge
import JSON
import Models
import Reactor
import ServiceKit
import Wire

/// One request on its way to its answer.
@Reactor
struct Exchange {
    private let responder: Responder
    private let metrics: IngestMetrics
    private let log: Log
    let call: Call
    /// Of who asks; nil for a call that needs nobody.
    let account: UserAccount?
    let bodyBytes: Int
    /// Present when the request's journey is to be seen in the logs.
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

    func answer(_ status: Int, json body: borrowing ByteBuffer) { answer(status, .json, [], body.bytes) }

    func answer(_ problem: Problem, headers: [ResponseHeader] = []) {
        var body = ByteBuffer()
        problem.writeJSON(to: &body)
        let retry = problem.retryAfter.map { [ResponseHeader.retryAfter(seconds: $0)] } ?? []
        answer(Int(problem.code.status), .problem, headers + retry, body.bytes)
    }

    /// The client JSON of a store, passed on as it came, or its problem.
    func pass(status: UInt16, _ payload: UnsafeRawBufferPointer) {
        if status < 400 { return answer(Int(status), .json, [], payload) }
        var reader = ByteReader(payload)
        answer((try? Problem(from: &reader)) ?? .answerNotUnderstood)
    }

    private func answer(
        _ status: Int, _ type: ContentType, _ headers: [ResponseHeader], _ body: UnsafeRawBufferPointer
    ) {
        responder.answer(status, type, headers: headers, body: body)
        metrics.answered(status, after: .now - begun)
        if let trace { log.info("traced: answered", trace, [LogField("status", status)]) }
    }
}
