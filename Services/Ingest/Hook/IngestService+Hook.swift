import Bus
import Bytes
import Edge
import Models
import Reactor
import Wire

extension IngestService {
    typealias Completion = @Reactor (Result<BusResponse, Problem>) -> Void

    /// The hook, if the application is to be asked about this request: about what users do themselves, not about what its own
    /// backend does for them.
    func hook(for request: Request, _ call: Call) throws(Problem) -> Hook? {
        let hook: Hook? =
            switch call.asksApplication {
            case .messages: messageHook.map(Hook.messages)
            case .members: try memberHook(for: request)
            case nil: nil
            }
        guard let hook else { return nil }
        return try authenticator.isAdministrator(request) ? nil : hook
    }

    private func memberHook(for request: Request) throws(Problem) -> Hook? {
        let isHeard = try !authenticator.isUnheard(request)
        return consentHook == nil && isHeard ? nil : .members(consentHook, isHeard: isHeard)
    }

    enum Hook {
        case messages(ApplicationHook<MessageQuestion>)
        /// Of a user who is not heard everybody who would come in declines. The application is asked nevertheless, if it is at all: a
        /// refusal that there would be is none the less for that, and neither is the time it takes.
        case members(ApplicationHook<ConsentQuestion>?, isHeard: Bool)
    }

    /// Asks the application about a command, and sends it to the store with what was said.
    func ask(
        _ hook: Hook, _ kind: StoreRequestKind, in slot: Slot, _ command: [UInt8], of user: UserID,
        _ trace: TraceContext?, _ completion: @escaping Completion
    ) {
        let send = { @Reactor [self] (command: [UInt8], completion: @escaping Completion) in
            bus.request(
                kind, in: slot, deadline: deadline, trace: trace, fields: { $0.append(command) },
                completion: { completion($0.result) })
        }
        do throws(Problem) {
            switch hook {
            case .messages(let hook):
                // What is forwarded was looked up before. What cannot be forwarded has no text to ask about.
                guard let question = MessageQuestion(kind, command) else { return send(command, completion) }
                try ask(hook, question, of: user, in: slot, send, completion)
            case .members(let hook, let isHeard):
                guard let question = ConsentQuestion(kind, command) else {
                    preconditionFailure("a call that the application is asked about members brings somebody in")
                }
                // Whoever opens a group of their own brings nobody in.
                guard question.count > 0 else { return send(command, completion) }
                guard let hook else { return send(question.command(with: question.declined), completion) }
                try ask(hook, question, of: user, isHeard: isHeard, send, completion)
            }
        } catch {
            completion(.failure(error))
        }
    }

    // MARK: Members

    /// It is the store that refuses: it alone knows whether somebody would come in at all. So a repeated request gets its first
    /// response, whatever the application says now, and the roles of members change without it.
    private func ask(
        _ hook: ApplicationHook<ConsentQuestion>, _ question: ConsentQuestion, of user: UserID, isHeard: Bool,
        _ send: @escaping @Reactor ([UInt8], @escaping Completion) -> Void, _ completion: @escaping Completion
    ) throws(Problem) {
        try hook.ask(question, of: user) { verdict, turn in
            let consents =
                verdict?.map { Consent($0, isHeard: isHeard) } ?? Array(repeating: .unanswered, count: question.count)
            let detail = verdict?.lazy.compactMap(\.detail).first { !$0.isEmpty }
            send(question.command(with: consents)) { result in
                completion(detail.map { result.refused(with: $0) } ?? result)
                turn.end()
            }
        }
    }

    // MARK: Messages

    private func ask(
        _ hook: ApplicationHook<MessageQuestion>, _ question: MessageQuestion, of user: UserID, in slot: Slot,
        _ send: @escaping @Reactor ([UInt8], @escaping Completion) -> Void, _ completion: @escaping Completion
    ) throws(Problem) {
        let failsOpen = hook.failsOpen
        try hook.ask(question, of: user) { [self] verdict, turn in
            let finish: Completion = { result in
                completion(result)
                turn.end()
            }
            guard let verdict else {
                return failsOpen ? send(question.command, finish) : finish(.failure(.noAnswer))
            }
            var refusals: [Int: String] = [:]
            for (position, action) in verdict.enumerated() { refusals[position] = action.detail }
            guard !refusals.isEmpty else { return send(question.command, finish) }
            refuse(refusals, of: question, in: slot, send, finish)
        }
    }

    /// Before a refusal is said, the store is asked what of it is stored already: of a request that is repeated because its
    /// response was lost, and what was said of the first holds. And who is not in the conversation hears that alone.
    private func refuse(
        _ refusals: [Int: String], of question: MessageQuestion, in slot: Slot,
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
                    ? .refusedMessage(refusals[position] ?? "")
                    : .unknownConversation
            }
            Self.send(question, without: refused, send, finish)
        }
    }

    private static func send(
        _ question: MessageQuestion, without refused: [Int: Problem],
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
    fileprivate static func refusedMessage(_ detail: String) -> Problem {
        Problem(.refusedByApplication, detail.isEmpty ? "the application does not accept this message" : detail)
    }

    fileprivate static let unknownConversation = Problem(.notFound, "there is no such conversation")
}

extension HookAnswer.Action {
    /// What the user is told, of a refusal. Empty: nothing of the application's own.
    fileprivate var detail: String? { if case .refuse(let detail) = self { detail } else { nil } }
}

extension Consent {
    fileprivate init(_ action: HookAnswer.Action, isHeard: Bool) {
        self =
            switch action {
            case .allow where !isHeard, .ask where !isHeard: .declined
            case .allow: .given
            case .ask: .asked
            case .decline: .declined
            case .refuse: .refused
            }
    }
}

extension Result<BusResponse, Problem> {
    /// With the application's words, if this is a refusal of its.
    fileprivate func refused(with detail: String) -> Self {
        guard case .success(let response) = self, response.status == Problem.Code.refusedByApplication.status else {
            return self
        }
        var reader = ByteReader(response.payload.bytes)
        guard let problem = try? Problem(from: &reader), problem.code == .refusedByApplication else { return self }
        return .failure(Problem(.refusedByApplication, detail))
    }
}
