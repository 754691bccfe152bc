import Bus
import Bytes
import Edge
import Models
import Reactor
import Wire

extension IngestService {
    typealias Completion = @Reactor (Result<BusResponse, Problem>) -> Void

    /// The hook, if the application is to be asked about this request: about what users send themselves, not about what its own
    /// backend sends for them.
    func hook(for request: Request, _ call: Call) throws(Problem) -> MessageHook? {
        guard let messageHook, call.asksApplication else { return nil }
        return try authenticator.isAdministrator(request) ? nil : messageHook
    }

    /// Asks the application about a command, and sends it to the store unless it is refused.
    func ask(
        _ hook: MessageHook, _ question: HookQuestion, _ kind: StoreRequestKind, in slot: Slot, of user: UserID,
        _ trace: TraceContext?, _ completion: @escaping Completion
    ) {
        let failsOpen = hook.failsOpen
        do throws(Problem) {
            try hook.ask(question, of: user) { [self] verdict, turn in
                let finish: Completion = { result in
                    completion(result)
                    turn.end()
                }
                let send = { @Reactor [self] (command: [UInt8], completion: @escaping Completion) in
                    bus.request(
                        kind, in: slot, deadline: deadline, trace: trace, fields: { $0.append(command) },
                        completion: { completion($0.result) })
                }
                switch verdict {
                case .allowed: send(question.command, finish)
                case .failed where failsOpen: send(question.command, finish)
                case .failed: finish(.failure(.noAnswer))
                case .refused(let refusals): refuse(refusals, of: question, in: slot, send, finish)
                }
            }
        } catch {
            completion(.failure(error))
        }
    }

    /// Before a refusal is said, the store is asked what of it is stored already: of a request that is repeated because its
    /// response was lost, and what was said of the first holds. And who is not in the conversation hears that alone.
    private func refuse(
        _ refusals: [Int: String], of question: HookQuestion, in slot: Slot,
        _ send: @escaping @Reactor ([UInt8], @escaping Completion) -> Void, _ finish: @escaping Completion
    ) {
        let positions = refusals.keys.sorted()
        let query = question.query(positions)
        bus.request(.writtenMessages, in: slot, deadline: deadline, fields: { query.write(to: &$0) }) { outcome in
            let answer: WrittenMessages.Answer
            switch outcome.result {
            case .failure(let problem): return finish(.failure(problem))
            case .success(let response):
                guard response.status < 400 else { return finish(.success(response)) }
                var reader = ByteReader(response.payload.bytes)
                guard let read = try? WrittenMessages.Answer(from: &reader), read.areWritten.count == positions.count
                else {
                    return finish(.failure(.unreadableResponse))
                }
                answer = read
            }
            var refused: [Int: Problem] = [:]
            for (position, isWritten) in zip(positions, answer.areWritten) where !isWritten {
                refused[position] =
                    answer.isInConversation
                    ? Problem(.refusedByApplication, refusals[position] ?? HookAnswer.defaultDetail)
                    : .unknownConversation
            }
            Self.send(question, without: refused, send, finish)
        }
    }

    private static func send(
        _ question: HookQuestion, without refused: [Int: Problem],
        _ send: @Reactor ([UInt8], @escaping Completion) -> Void, _ finish: @escaping Completion
    ) {
        if question.count == 1, let problem = refused[0] { return finish(.failure(problem)) }
        let kept = Set(0..<question.count).subtracting(refused.keys)
        guard !kept.isEmpty else { return finish(.success(merged(nil, refused, count: question.count))) }
        send(question.command(with: kept)) { result in
            guard case .success(let response) = result, response.status < 400, !refused.isEmpty else {
                return finish(result)
            }
            finish(.success(merged(response, refused, count: question.count)))
        }
    }

    /// The store's response to the messages that were not refused, with the problems of the others in their places.
    private static func merged(_ response: BusResponse?, _ refused: [Int: Problem], count: Int) -> BusResponse {
        var buffer = ByteBuffer()
        var reader = ByteReader(response?.payload.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0))
        for position in 0..<count {
            if let problem = refused[position] {
                SendResponse.append(problem, to: &buffer)
            } else if let (status, body) = try? SendResponse.next(from: &reader) {
                SendResponse.append(status: status, to: &buffer) { $0.append(body) }
            }
        }
        return BusResponse(status: response?.status ?? 200, payload: buffer.bytes)
    }
}

extension Problem {
    fileprivate static let noAnswer = Problem(
        .unavailable, "the application does not answer at the moment: repeat the request as it is")
    fileprivate static let unknownConversation = Problem(.notFound, "there is no such conversation")
}
