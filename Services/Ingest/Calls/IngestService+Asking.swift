import Bus
import Bytes
import Models
import Reactor
import Wire

extension IngestService {
    /// Asks the store that owns `slot` and passes its answer on.
    /// - Parameter size: bytes of the client's body, as a measure of what is kept until the answer.
    /// - Parameter weight: what that takes of the caller's share; nil where the call alone says it.
    func ask(
        _ kind: StoreRequestKind, in slot: Slot, size: Int = 0, weight: Int? = nil, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void
    ) {
        ask(kind, in: slot, size: size, weight: weight, exchange, fields: fields) { outcome in
            switch outcome {
            case .success(let answer): exchange.pass(status: answer.status, answer.payload.bytes)
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }

    /// Asks the store that owns `slot`. `answered` is called once: with its answer, or with why there is none.
    func ask(
        _ kind: StoreRequestKind, in slot: Slot, size: Int, weight: Int? = nil, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void, answered: @escaping @Reactor (Result<Answer, Problem>) -> Void
    ) {
        let ended = exchange.begin(weight: weight, size: size)
        bus.request(kind, in: slot, deadline: deadline, trace: exchange.trace, fields: fields) { outcome in
            ended.end()
            answered(outcome.result)
        }
    }

    /// As above, for the receipt service.
    func ask(
        _ kind: ReceiptRequestKind, in slot: Slot, _ exchange: Exchange, fields: (inout ByteBuffer) -> Void
    ) {
        let ended = exchange.begin(weight: nil, size: 0)
        bus.request(kind, in: slot, deadline: deadline, fields: fields) { outcome in
            ended.end()
            switch outcome.result {
            case .success(let answer): exchange.pass(status: answer.status, answer.payload.bytes)
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }

    /// Pays for what a request with so many items costs.
    /// - Returns: what it takes of the caller's share until its answer.
    func pay(_ exchange: Exchange, items: Int) throws(Problem) -> Int {
        guard let account = exchange.account else { preconditionFailure("who pays is known") }
        return try account.pay(for: exchange.call, items: items, bodyBytes: exchange.bodyBytes, at: .now)
    }
}

/// What a request in flight takes, given back by `end`.
@Reactor
struct InFlight {
    private let account: UserAccount
    private let weight: Int
    private let size: Int

    fileprivate init(_ account: UserAccount, weight: Int, size: Int) {
        self.account = account
        self.weight = weight
        self.size = size
        account.begin(weight: weight, bytes: size)
    }

    func end() { account.end(weight: weight, bytes: size) }
}

extension Exchange {
    fileprivate func begin(weight: Int?, size: Int) -> InFlight {
        guard let account else { preconditionFailure("who asks the stores is known") }
        return InFlight(account, weight: weight ?? account.weight(of: call), size: size)
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
