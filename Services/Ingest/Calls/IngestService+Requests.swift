import Bus
import Bytes
import Models
import Reactor
import Wire

extension IngestService {
    /// Sends a request to the store that owns `slot` and forwards its response to the client.
    /// - Parameter size: bytes of the client's body, which are held until the response.
    /// - Parameter weight: the part of the caller's share that the request takes; nil if the call alone determines it.
    func forward(
        _ kind: StoreRequestKind, in slot: Slot, size: Int = 0, weight: Int? = nil, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void
    ) {
        request(kind, in: slot, size: size, weight: weight, exchange, fields: fields) { exchange.forward($0) }
    }

    /// Sends a request to the store that owns `slot`. Calls `completion` once, with the response or the reason for none.
    func request(
        _ kind: StoreRequestKind, in slot: Slot, size: Int, weight: Int? = nil, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        request(.store(kind, slot), size, weight, exchange, fields, completion)
    }

    /// Sends a request to the receipt service that owns `slot` and forwards its response to the client.
    func forward(
        _ kind: ReceiptRequestKind, in slot: Slot, _ exchange: Exchange, fields: (inout ByteBuffer) -> Void
    ) {
        request(kind, in: slot, exchange, fields: fields) { exchange.forward($0) }
    }

    /// Sends a request to the receipt service that owns `slot`, as above.
    func request(
        _ kind: ReceiptRequestKind, in slot: Slot, _ exchange: Exchange, fields: (inout ByteBuffer) -> Void,
        completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        request(.receipt(kind, slot), 0, nil, exchange, fields, completion)
    }

    /// Asks the media service that owns the user's slot, as above.
    func request(
        _ kind: MediaRequestKind, of user: UserID, size: Int, weight: Int?, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        request(.media(kind, user), size, weight, exchange, fields, completion)
    }

    private enum Destination {
        case store(StoreRequestKind, Slot)
        case receipt(ReceiptRequestKind, Slot)
        case media(MediaRequestKind, UserID)
    }

    /// Sends a request at once; or, if it belongs to an administrator's act, when that is in the audit log; or, if it brings a
    /// user's text, when the application has been asked.
    private func request(
        _ destination: Destination, _ size: Int, _ weight: Int?, _ exchange: Exchange,
        _ fields: (inout ByteBuffer) -> Void, _ completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let inFlight = exchange.begin(weight: weight, size: size)
        let end = { @Reactor (result: Result<BusResponse, Problem>) in
            inFlight.end()
            completion(result)
        }
        if let hook = exchange.hook, case .store(let kind, let slot) = destination, let account = exchange.account {
            var command = ByteBuffer()
            fields(&command)
            return ask(hook, kind, in: slot, command.array, of: account.user, exchange.trace, end)
        }
        guard let act = exchange.act else { return send(to: destination, exchange.trace, fields, end) }
        var buffer = ByteBuffer()
        fields(&buffer)
        let bytes = buffer.array
        act.record { [self] problem in
            if let problem { return end(.failure(problem)) }
            send(to: destination, exchange.trace, { $0.append(bytes) }, end)
        }
    }

    private func send(
        to destination: Destination, _ trace: TraceContext?, _ fields: (inout ByteBuffer) -> Void,
        _ end: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        switch destination {
        case .store(let kind, let slot):
            bus.request(kind, in: slot, deadline: deadline, trace: trace, fields: fields) { end($0.result) }
        case .receipt(let kind, let slot):
            bus.request(kind, in: slot, deadline: deadline, fields: fields) { end($0.result) }
        case .media(let kind, let user):
            // It gets half of the time, because a request to a store follows.
            bus.request(kind, of: user, deadline: deadline / 2, trace: trace, fields: fields) { outcome in
                if case .timedOut = outcome { return end(.failure(.noMedia)) }
                end(outcome.result)
            }
        }
    }

    /// Charges the caller for a request with `items` items.
    /// - Returns: the part of the caller's share that the request takes until its response.
    func pay(_ exchange: Exchange, items: Int) throws(Problem) -> Int {
        guard let account = exchange.account else { preconditionFailure("the call has an account") }
        return try account.pay(for: exchange.call, items: items, bodyBytes: exchange.bodyBytes, at: .now)
    }
}

/// The share that a request in flight takes, released by `end`.
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
    func forward(_ result: Result<BusResponse, Problem>) {
        switch result {
        case .success(let response): forward(status: response.status, response.payload.bytes)
        case .failure(let problem): respond(problem)
        }
    }

    /// Takes a part of the caller's share, for a request that is made without `request`.
    func begin(weight: Int?, size: Int) -> InFlight {
        guard let account else { preconditionFailure("the call has an account") }
        return InFlight(account, weight: weight ?? account.weight(of: call), size: size)
    }
}

extension Problem {
    fileprivate static let noMedia = Problem(
        .unavailable, "attachments: no media service responds: repeat the request as it is")
}

extension RequestOutcome {
    var result: Result<BusResponse, Problem> {
        switch self {
        case .response(let response): .success(response)
        case .timedOut: .failure(Problem(.unavailable, "no response in time: repeat the request as it is"))
        case .full: .failure(Problem(.overloaded, "too many requests are in flight"))
        }
    }
}
