import Bus
import Bytes
import Models
import Reactor
import Wire

extension IngestService {
    /// Asks the store that owns `slot` and passes its answer on.
    /// - Parameter size: bytes of the client's body, as a measure of what is kept until the answer.
    func ask(
        _ kind: StoreRequestKind, in slot: Slot, size: Int = 0, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void
    ) {
        ask(kind, in: slot, size: size, exchange.trace, fields: fields) { outcome in
            switch outcome {
            case .success(let answer): exchange.pass(status: answer.status, answer.payload.bytes)
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }

    /// Asks the store that owns `slot`. `answered` is called once: with its answer, or with why there is none.
    func ask(
        _ kind: StoreRequestKind, in slot: Slot, size: Int, _ trace: TraceContext?, fields: (inout ByteBuffer) -> Void,
        answered: @escaping @Reactor (Result<Answer, Problem>) -> Void
    ) {
        load.begin(bytes: size)
        bus.request(kind, in: slot, deadline: deadline, trace: trace, fields: fields) { [self] outcome in
            load.end(bytes: size)
            answered(outcome.result)
        }
    }

    /// As above, for the receipt service.
    func ask(
        _ kind: ReceiptRequestKind, in slot: Slot, _ exchange: Exchange, fields: (inout ByteBuffer) -> Void
    ) {
        load.begin(bytes: 0)
        bus.request(kind, in: slot, deadline: deadline, fields: fields) { [self] outcome in
            load.end(bytes: 0)
            switch outcome.result {
            case .success(let answer): exchange.pass(status: answer.status, answer.payload.bytes)
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }
}

extension RequestOutcome {
    fileprivate var result: Result<Answer, Problem> {
        switch self {
        case .answered(let answer): .success(answer)
        case .timedOut: .failure(Problem(.unavailable, "no answer in time: repeat the request as it is"))
        case .full: .failure(Problem(.overloaded, "too many requests are in flight"))
        }
    }
}
