import Bytes
import JSON
import Models
import Reactor
import ServiceKit

/// A user's turn with a hook. It ends when each of its commands has.
@Reactor
final class HookTurn {
    private var left: Int
    private let completion: @Reactor () -> Void

    fileprivate init(_ count: Int, _ completion: @escaping @Reactor () -> Void) {
        left = count
        self.completion = completion
    }

    /// A command of the turn was carried out or refused.
    func end() {
        left -= 1
        if left == 0 { completion() }
    }
}

/// Asks the application's backend about commands before they are carried out.
@Reactor
final class ApplicationHook<Question: HookQuestion> {
    /// What was said of each that the question is about. Nil: there was no answer.
    typealias Verdict = [HookAnswer.Action]?

    private struct Waiting {
        let question: Question
        let then: @Reactor (Verdict, HookTurn) -> Void
    }

    let failsOpen: Bool
    private let transport: any HookTransport
    private let metrics: HookMetrics
    private let log: Log
    private var queue: HookQueue
    private var breaker = HookBreaker()
    private var waiting: [UInt64: Waiting] = [:]
    private var lastNumber: UInt64 = 0
    private var isAboutToAsk = false
    private var timer: TimerID?
    private var random = SystemRandomNumberGenerator()

    init(
        _ configuration: HookConfiguration, _ limits: HookQueue.Limits, _ transport: any HookTransport,
        _ metrics: HookMetrics, _ log: Log
    ) {
        failsOpen = configuration.failsOpen
        self.transport = transport
        self.metrics = metrics
        self.log = log
        queue = HookQueue(limits)
        metrics.show(
            waiting: { [unowned self] in queue.waiting.messages }, isPaused: { [unowned self] in breaker.isOpen })
    }

    convenience init(_ configuration: HookConfiguration, _ limits: HookQueue.Limits, _ metrics: HookMetrics, _ log: Log)
    {
        self.init(configuration, limits, HookClient(configuration, connections: limits.requests), metrics, log)
    }

    /// Asks about a command. `then` gets the verdict, and has to end the turn when the command was carried out or refused.
    /// - Throws: if too much waits.
    func ask(
        _ question: Question, of user: UserID, then: @escaping @Reactor (Verdict, HookTurn) -> Void
    ) throws(Problem) {
        lastNumber += 1
        let number = lastNumber
        switch queue.enter(number, of: user, messages: question.count, bytes: question.command.count, at: .now) {
        case .full: throw Problem(.overloaded, "too much waits for the application's answer")
        case .fullOfUser: throw Problem(.rateLimited, "more waits for the application's answer than a user's may")
        case .waits: break
        }
        waiting[number] = Waiting(question: question, then: then)
        askSoon()
    }

    /// At the end of the turn of the reactor, when all of a batch is there.
    private func askSoon() {
        guard !isAboutToAsk else { return }
        isAboutToAsk = true
        Reactor.atEndOfTurn { [self] in
            isAboutToAsk = false
            askNext()
        }
    }

    private func askNext() {
        while let turn = queue.next(&breaker, at: .now) { begin(turn) }
        if let timer { Reactor.cancel(timer) }
        timer = queue.nextEnd.map { end in
            Reactor.after(end - .now) { [self] in
                timer = nil
                askNext()
            }
        }
    }

    private func begin(_ turn: HookQueue.Turn) {
        let commands = turn.entries.map { number in
            guard let command = waiting.removeValue(forKey: number) else { preconditionFailure("it waits") }
            return command
        }
        let end = HookTurn(commands.count) { [self] in
            queue.ended(turn.user, at: .now)
            askSoon()
        }
        switch turn.fate {
        case .fail(let failure): fail(commands, failure, end)
        case .ask(let deadline): ask(commands, of: turn.user, until: deadline, end)
        }
    }

    private func ask(_ commands: [Waiting], of user: UserID, until deadline: MonotonicTime, _ turn: HookTurn) {
        let body = Self.body(commands.map(\.question), of: user, at: .now)
        let id = UUIDBytes(high: random.next(), low: random.next())
        let asked = Asked(commands, turn)
        let timer = Reactor.after(deadline - .now) { [self] in take(.failure(.timeout), of: asked) }
        transport.post(
            HookPost(id: "msg_\(id)", body: body, deadline: deadline) { [self] result in
                Reactor.cancel(timer)
                queue.answered()
                take(result, of: asked)
                askSoon()
            })
    }

    /// A question without an answer. The first of the two counts, the answer or the time: the thread of the transport may itself
    /// be held up.
    @Reactor
    private final class Asked {
        let commands: [Waiting]
        let turn: HookTurn
        let begun = MonotonicTime.now
        var isOver = false

        init(_ commands: [Waiting], _ turn: HookTurn) { (self.commands, self.turn) = (commands, turn) }
    }

    private func take(_ result: Result<HookResponse, HookFailure>, of asked: Asked) {
        guard !asked.isOver else { return }
        asked.isOver = true
        metrics.asked(.now - asked.begun)
        take(result, asked.commands, asked.turn)
    }

    /// `{type, timestamp, data: {senderId, messages}}`, or what the question calls these.
    private static func body(_ questions: [Question], of user: UserID, at now: Timestamp) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 1024)
        buffer.beginObject()
        buffer.append(key: "type", json: Question.type)
        buffer.append(key: "timestamp", json: now)
        buffer.append(key: "data")
        buffer.beginObject()
        buffer.append(key: Question.author, json: user)
        buffer.append(key: Question.list)
        buffer.beginArray()
        for question in questions { question.write(to: &buffer) }
        buffer.endArray()
        buffer.endObject()
        buffer.endObject()
        return buffer.array
    }

    private func take(_ result: Result<HookResponse, HookFailure>, _ commands: [Waiting], _ turn: HookTurn) {
        let count = commands.reduce(0) { $0 + $1.question.count }
        do throws(HookFailure) {
            let response = try result.get()
            let answer = try HookAnswer(status: response.status, response.body, count: count, Question.actions)
            if breaker.isOpen { log.info("the hook answers again", hook) }
            breaker.succeeded()
            give(answer, to: commands, turn)
        } catch {
            let wasOpen = breaker.isOpen
            breaker.failed(at: .now)
            log.warning("the hook failed", hook + [LogField("reason", error.rawValue)])
            if breaker.isOpen, !wasOpen {
                log.error("the hook is not asked for a while", hook + [LogField("failsOpen", failsOpen)])
            }
            fail(commands, error, turn)
        }
    }

    private var hook: [LogField] { [LogField("asks", "\(Question.type)")] }

    private func give(_ answer: HookAnswer, to commands: [Waiting], _ turn: HookTurn) {
        var rest = answer.actions[...]
        for command in commands {
            let actions = Array(rest.prefix(command.question.count))
            rest = rest.dropFirst(actions.count)
            let allowed = actions.count { $0 == .allow }
            metrics.answered(allowed: allowed, refused: actions.count - allowed)
            command.then(actions, turn)
        }
    }

    private func fail(_ commands: [Waiting], _ failure: HookFailure, _ turn: HookTurn) {
        for command in commands {
            metrics.failed(failure, messages: command.question.count)
            command.then(nil, turn)
        }
    }
}
