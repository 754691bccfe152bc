import CommandSupport
import ParleyClient
import Reactor
import ReactorTransport

/// Sends all messages of a plan and records the acknowledgements.
///
/// Closed loop: a number of requests is kept in flight. Open loop (`rate`): messages are due at fixed times, and
/// latency counts from there, so that a client waiting for the server does not hide its stalls.
@Reactor
final class ReplaySender {
    enum Pace: Sendable {
        case inFlight(Int)
        case rate(Int)
    }

    private let plan: ReplayPlan
    private let tokens: [String]
    private let http: HTTPClient
    private let pace: Pace
    private var schedule: SendSchedule
    private var pacer: Pacer?
    /// Due times not used yet, because all remaining messages wait for their parents.
    private var overdue: [MonotonicTime] = []
    private var whenDone: UnsafeContinuation<Void, Never>?

    /// When each message was due or first sent, by conversation and message. Nil before that.
    private(set) var sentAt: [[MonotonicTime?]]
    /// The acknowledged positions, by conversation and message. 0 before that.
    private(set) var acknowledgedSeqs: [[Int64]]
    private(set) var acknowledged = 0
    private(set) var latencies = Latencies()
    private(set) var repetitions = 0
    private(set) var failures = MismatchList()
    private(set) var started = MonotonicTime.now
    private(set) var finished = MonotonicTime.now

    /// Enough for any rate that a server can sustain. If it cannot, overdue messages wait here instead of there.
    private static let mostInFlight = 5000

    init(_ plan: ReplayPlan, tokens: [String], http: HTTPClient, pace: Pace, strictOrder: Bool) {
        self.plan = plan
        self.tokens = tokens
        self.http = http
        self.pace = pace
        schedule = SendSchedule(
            parents: plan.conversations.map { $0.messages.map(\.parent) }, strictOrder: strictOrder)
        sentAt = plan.conversations.map { Array(repeating: nil, count: $0.messages.count) }
        acknowledgedSeqs = plan.conversations.map { Array(repeating: 0, count: $0.messages.count) }
    }

    var inFlight: Int { schedule.inFlight }

    /// Returns when every message was acknowledged or given up.
    func run() async {
        started = .now
        if case .rate(let rate) = pace {
            pacer = Pacer(rate: rate) { [unowned self] due in
                overdue.append(due)
                sendDue()
            }
        }
        fill()
        if schedule.remaining > 0 { await withUnsafeContinuation { whenDone = $0 } }
        pacer?.stop()
        finished = .now
    }

    private func fill() {
        switch pace {
        case .inFlight(let limit):
            while schedule.inFlight < limit, let item = schedule.next() { send(item, at: .now) }
        case .rate: sendDue()
        }
    }

    private func sendDue() {
        var taken = 0
        while taken < overdue.count, schedule.inFlight < Self.mostInFlight, let item = schedule.next() {
            send(item, at: overdue[taken])
            taken += 1
        }
        overdue.removeFirst(taken)
    }

    private func send(_ item: SendSchedule.Item, at time: MonotonicTime) {
        if sentAt[item.conversation][item.message] == nil { sentAt[item.conversation][item.message] = time }
        let conversation = plan.conversations[item.conversation]
        let message = conversation.messages[item.message]
        let outgoing = OutgoingMessage(
            conversation: conversation.id, id: message.id, text: message.text,
            replyTo: message.parent.map { conversation.messages[$0].id })
        http.send(outgoing.request(token: tokens[message.sender])) { [self] outcome in
            finish(item, outcome)
            if schedule.remaining == 0 { end() } else { fill() }
        }
    }

    private func finish(_ item: SendSchedule.Item, _ outcome: HTTPOutcome) {
        switch outcome {
        case .lost, .refused: retry(item, after: .milliseconds(100))
        case .response(let response) where Reply.isTemporary(response.status):
            retry(item, after: response.retryAfter ?? .milliseconds(100))
        case .response(let response): settle(item, response)
        }
    }

    private func settle(_ item: SendSchedule.Item, _ response: HTTPResponse) {
        let id = plan.conversations[item.conversation].messages[item.message].id
        guard response.status == 200 || response.status == 201,
            let message = AcknowledgedMessage(document: response.body), message.id == id
        else {
            failures.add("message \(id): status \(response.status) \(problemDetail(response.body))")
            failures.add(count: schedule.abandon(item) - 1)
            return
        }
        schedule.acknowledge(item)
        acknowledged += 1
        acknowledgedSeqs[item.conversation][item.message] = message.seq
        guard let sent = sentAt[item.conversation][item.message] else { return }
        latencies.record(nanoseconds: MonotonicTime.now.nanoseconds - sent.nanoseconds)
    }

    /// Repeats a request with the same id. For the schedule it stays in flight until then.
    private func retry(_ item: SendSchedule.Item, after pause: Duration) {
        repetitions += 1
        Reactor.after(pause) { [self] in
            schedule.retry(item)
            if case .rate = pace { overdue.insert(sentAt[item.conversation][item.message] ?? .now, at: 0) }
            fill()
        }
    }

    private func end() {
        whenDone?.resume()
        whenDone = nil
    }
}
