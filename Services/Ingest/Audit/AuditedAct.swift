import Bus
import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// An act of an administrator. Nothing of it reaches another service before it is in the audit log; what became of it is noted there
/// afterwards, as far as this process lives to see it.
@Reactor
final class AuditedAct {
    private enum State {
        case new
        case recording([@Reactor (Problem?) -> Void])
        case recorded
    }

    private let bus: Bus
    private let deadline: Duration
    private var act: RecordAct
    private var state = State.new

    init(_ act: RecordAct, bus: Bus, deadline: Duration) {
        self.act = act
        self.bus = bus
        self.deadline = deadline
    }

    /// Says more about it, before it is recorded.
    func note(_ conversation: ConversationID) { act.conversation = conversation }

    func note(detail: StaticString) { act.detail = detail.description }

    func note(number: Int) { act.detail = String(number) }

    /// Calls `next` when it is in the log, or with the reason why it is not: then it must not be carried out.
    func record(then next: @escaping @Reactor (Problem?) -> Void) {
        switch state {
        case .recorded: return next(nil)
        case .recording(let waiting):
            state = .recording(waiting + [next])
            return
        case .new: state = .recording([next])
        }
        bus.request(.recordAct, in: .ofAuditLog, deadline: deadline, fields: { act.write(to: &$0) }) { [self] outcome in
            recorded(outcome.result)
        }
    }

    private func recorded(_ result: Result<BusResponse, Problem>) {
        guard case .recording(let waiting) = state else { return }
        let isRecorded = (try? result.get())?.status == 200
        state = isRecorded ? .recorded : .new
        for next in waiting { next(isRecorded ? nil : .noAuditLog) }
    }

    /// Its response is about to go out.
    func end(status: Int) {
        guard case .recorded = state else { return }
        let end = EndAct(act.id, status: UInt16(clamping: status))
        bus.request(.endAct, in: .ofAuditLog, deadline: deadline, fields: { end.write(to: &$0) }, completion: { _ in })
    }
}

extension Problem {
    fileprivate static let noAuditLog = Problem(
        .unavailable, "the audit log is not available: nothing was done")
}

extension IngestService {
    /// The act that a request is, if an administrator makes it and it belongs into the log.
    ///
    /// - Parameter patience: how long the log may be away; nil: half of the time that a request has.
    func act(of request: Request, _ route: Route, patience: Duration? = nil) throws(Problem) -> AuditedAct? {
        let call = route.call
        guard call.audit == .always || call.audit == .ifSendsAre && auditsSends else { return nil }
        let token = try authenticator.token(of: request)
        guard token.isAdministrator else { return nil }
        let isForUser = !call.isForAdministrators && request[.parleyUser] != nil
        let act = RecordAct(
            UUIDBytes(high: random.next(), low: random.next()), by: token.user,
            for: isForUser ? try authenticator.user(of: request) : nil, call: call.name.description,
            in: route.namedConversation, target: route.namedTarget)
        return AuditedAct(act, bus: bus, deadline: patience ?? deadline / 2)
    }

    /// `GET /v1/audit`
    func acts(_ parameters: QueryParameters, _ administrator: UserID, _ exchange: Exchange) throws(Problem) {
        let query = ActsQuery(
            by: administrator, after: try parameters.after(),
            limit: try parameters.limit(100, atMost: ContractLimits.actsPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.acts, in: .ofAuditLog, weight: weight, exchange) { query.write(to: &$0) }
    }
}
