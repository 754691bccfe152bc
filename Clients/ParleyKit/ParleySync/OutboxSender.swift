import Models
import ParleyStorage

/// One request that carries rows of the outbox.
package enum OutboxCall: Hashable, Sendable {
    case single(OutboxRow)
    /// Messages, in the order of writing.
    case batch([OutboxRow])

    package var rows: [OutboxRow] {
        switch self {
        case .single(let row): [row]
        case .batch(let rows): rows
        }
    }
}

package enum OutboxResponse: Sendable {
    case done(WriteResponse)
    case batch(BatchResults)
    case failure(CallFailure)
}

/// What to do after a response: the outcomes in one transaction, before anything else is sent.
package struct OutboxStep: Sendable {
    package var completed: [(row: OutboxRow, response: WriteResponse)] = []
    package var refused: [(row: OutboxRow, problem: ProblemDetails)] = []
    package var needsFreshToken = false
}

/// Decides which rows of the outbox are sent when. Without I/O and without a clock; what it keeps may be lost at any
/// time, as every request may be repeated.
///
/// The messages of a conversation, and what changes who is in it, go one after the other. A message whose files are still
/// being uploaded keeps its place: those behind it wait. Edits, deletions and tapbacks
/// wait for their own message alone. Conversations do not wait for each other, also where the server puts off who is to
/// come into one of them.
package struct OutboxSender: Sendable {
    private var inFlight: [Int: OutboxCall] = [:]
    private var lastId = 0
    private var pausedUntil: Duration?
    private var backoff = Self.newBackoff
    /// Where a write about people was put off, such as one too many for a new account on this day.
    private var delays: [ConversationID: Delay] = [:]
    private var awaitsToken = false
    private var messagesPerBatch = Self.mostMessagesPerBatch
    private var random: SeededGenerator
    /// Where the user is writing: from when on, and until when the draft waits for a pause.
    private var writing: [ConversationID: (since: Duration, until: Duration)] = [:]
    /// From when on drafts are put: before, it is not known what other devices have written. Nil: there is no connection.
    private var draftsFrom: Duration?

    private struct Delay {
        /// Nil: the time has come.
        var until: Duration?
        var backoff = OutboxSender.newBackoff
        /// Nothing in the conversation can be done before.
        var isOfCreation = false
    }

    private static var newBackoff: Backoff { Backoff(first: .seconds(1), longest: .seconds(60)) }

    /// A put is of use when the user has paused for so long,
    private static let draftPause = Duration.seconds(3)
    /// or after this time of writing.
    private static let longestWriting = Duration.seconds(30)
    /// What a session tells at its beginning has come by then.
    private static let beginningOfSession = Duration.seconds(2)

    /// The server bounds what one user has in flight.
    private static let atOnce = 4
    private static let mostMessagesPerBatch = ContractLimits.batchMessages
    /// Leaves room for what JSON adds.
    private static let batchBytes = ContractLimits.batchBytes / 2
    /// How many rows to look at: a whole batch, and what may be blocked before it.
    package static let rowsToPlan = 2 * mostMessagesPerBatch

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Planning

    /// Whether a request may be made now: if not, there is no need to read what waits.
    package func isReady(at now: Duration) -> Bool {
        !awaitsToken && !isBusy && pausedUntil.map { $0 <= now } ?? true
    }

    private var isBusy: Bool { inFlight.count >= Self.atOnce }

    /// Chooses what to send now.
    ///
    /// - Parameter rows: those that wait, in the order of writing, including those in flight.
    package mutating func plan(_ rows: [OutboxRow], at now: Duration) -> [(id: Int, call: OutboxCall)] {
        guard isReady(at: now) else { return [] }
        pausedUntil = nil
        passTime(now)
        let (messages, others) = eligible(rows)
        var calls: [OutboxCall] = others.map(OutboxCall.single)
        if messages.count > 1 {
            calls.append(.batch(messages))
        } else if let message = messages.first {
            calls.append(.single(message))
        }
        calls.sort { $0.rows[0].key < $1.rows[0].key }
        return calls.prefix(Self.atOnce - inFlight.count).map { call in
            lastId += 1
            inFlight[lastId] = call
            return (lastId, call)
        }
    }

    /// The rows that wait for no other one. Of a conversation's messages the first few, to be sent in one request.
    private func eligible(_ rows: [OutboxRow]) -> (messages: [OutboxRow], others: [OutboxRow]) {
        let sent = Set(inFlight.values.flatMap(\.rows).map(\.key))
        var busy: Set<Lane> = []
        var messages: [OutboxRow] = []
        var others: [OutboxRow] = []
        var bytes = 0
        // A conversation whose first messages are in this request may have more in it.
        var open: Set<ConversationID> = []
        for row in rows where !awaitsPause(row) {
            let lanes = row.lanes
            let isFree = lanes.allSatisfy { !busy.contains($0) } && !sent.contains(row.key) && !isDelayed(row)
            let continues = row.conversation.map(open.contains) ?? false && row.isMessage
            if row.isMessage, !row.awaitsFiles, isFree || continues, messages.count < messagesPerBatch,
                bytes + row.size <= Self.batchBytes || messages.isEmpty
            {
                messages.append(row)
                bytes += row.size
                // These may be refused where a text is not: what comes after them must not overtake them.
                if row.isReply || row.mentionsAll || row.fileCount > 0 {
                    open.remove(row.conversation!)
                } else {
                    open.insert(row.conversation!)
                }
            } else {
                if isFree, !row.isMessage { others.append(row) }
                if let conversation = row.conversation, lanes.contains(.order(conversation)) {
                    open.remove(conversation)
                }
            }
            busy.formUnion(lanes)
        }
        return (messages, others)
    }

    private func isDelayed(_ row: OutboxRow) -> Bool {
        guard let id = row.conversation, let delay = delays[id], delay.until != nil else { return false }
        return delay.isOfCreation || row.lanes.contains(.order(id))
    }

    /// When to plan again; nil: not before a response or a new row.
    package var wakeAt: Duration? {
        guard !awaitsToken, !isBusy else { return nil }
        if let pausedUntil { return pausedUntil }
        var times = writing.values.map(\.until) + delays.values.compactMap(\.until)
        if let draftsFrom, draftsFrom > .zero { times.append(draftsFrom) }
        return times.min()
    }

    /// Whether nothing is sent for the moment: the server takes nothing, or all that is left waits for its time.
    package var isWaiting: Bool { wakeAt != nil && (pausedUntil != nil || inFlight.isEmpty) }

    // MARK: Drafts

    /// The user goes on writing a draft.
    package mutating func writes(in id: ConversationID, at now: Duration) {
        let since = writing[id]?.since ?? now
        writing[id] = (since, min(now + Self.draftPause, since + Self.longestWriting))
    }

    /// The user has turned away from a conversation, or from all: drafts do not wait any longer.
    package mutating func turnsAway(from id: ConversationID? = nil) {
        if let id { writing[id] = nil } else { writing = [:] }
    }

    /// A session has begun, or ended.
    package mutating func connected(_ isConnected: Bool, at now: Duration) {
        draftsFrom = isConnected ? now + Self.beginningOfSession : nil
    }

    /// The copy is as new as the server.
    package mutating func caughtUp() { draftsFrom = .zero }

    private func awaitsPause(_ row: OutboxRow) -> Bool {
        guard case .draft = row.write, let id = row.conversation else { return false }
        return draftsFrom != .zero || writing[id] != nil
    }

    /// Whoever has waited waits no longer.
    package mutating func passTime(_ now: Duration) {
        writing = writing.filter { $0.value.until > now }
        for (id, delay) in delays where delay.until.map({ $0 <= now }) ?? false { delays[id]?.until = nil }
        if let time = draftsFrom, time <= now { draftsFrom = .zero }
    }

    /// Asks to be connected again at once: the network is back.
    package mutating func resume() {
        pausedUntil = nil
        delays = [:]
        backoff.succeeded()
    }

    package mutating func tokenArrived() { awaitsToken = false }

    /// The requests were not made.
    package mutating func cancel(_ ids: [Int]) {
        for id in ids { inFlight[id] = nil }
    }

    /// Ignores the responses to all requests so far. Their rows are sent again, as they may always be.
    package mutating func restart() { inFlight = [:] }

    // MARK: Responses

    package mutating func handle(_ response: OutboxResponse, for id: Int, at now: Duration) -> OutboxStep {
        var step = OutboxStep()
        guard let call = inFlight.removeValue(forKey: id) else { return step }
        switch (call, response) {
        case (.single(let row), .done(let response)):
            backoff.succeeded()
            endDelay(of: row)
            step.completed.append((row, response))
        case (.batch(let rows), .batch(let results)): take(results, of: rows, at: now, &step)
        case (let call, .failure(let failure)): take(failure, of: call, at: now, &step)
        default: preconditionFailure("a response must be of its call's kind")
        }
        return step
    }

    private mutating func take(
        _ results: BatchResults, of rows: [OutboxRow], at now: Duration, _ step: inout OutboxStep
    ) {
        messagesPerBatch = Self.mostMessagesPerBatch
        var isComplete = true
        for (row, result) in zip(rows, results.results) {
            if let message = result.message {
                step.completed.append((row, .message(message)))
            } else if let problem = result.problem, !CallFailure.refused(problem, retryAfter: nil).isTemporary {
                step.refused.append((row, problem))
            } else {
                isComplete = false
            }
        }
        if isComplete { backoff.succeeded() } else { pause(at: now) }
    }

    private mutating func take(
        _ failure: CallFailure, of call: OutboxCall, at now: Duration, _ step: inout OutboxStep
    ) {
        if failure.isUnauthenticated {
            awaitsToken = true
            step.needsFreshToken = true
        } else if case .single(let row) = call, let id = row.conversation, row.isAboutPeople, failure.putsOff {
            delay(id, isOfCreation: row.isCreation, at: now, atLeast: failure.retryAfter)
        } else if failure.isTemporary {
            pause(at: now, atLeast: failure.retryAfter)
        } else if case .refused(let problem, _) = failure {
            switch call {
            case .single(let row):
                endDelay(of: row)
                step.refused.append((row, problem))
            // Smaller ones, down to one message that is refused by itself.
            case .batch(let rows): messagesPerBatch = max(1, rows.count / 2)
            }
        }
    }

    private mutating func pause(at now: Duration, atLeast asked: Duration? = nil) {
        pausedUntil = now + backoff.pause(atLeast: asked, using: &random)
    }

    private mutating func delay(
        _ id: ConversationID, isOfCreation: Bool, at now: Duration, atLeast asked: Duration?
    ) {
        var delay = delays[id] ?? Delay()
        delay.isOfCreation = isOfCreation
        delay.until = now + delay.backoff.pause(atLeast: asked, using: &random)
        delays[id] = delay
    }

    private mutating func endDelay(of row: OutboxRow) {
        if row.isAboutPeople, let id = row.conversation { delays[id] = nil }
    }
}

extension CallFailure {
    /// Whether the server has put off this request: too many, or not at the moment.
    fileprivate var putsOff: Bool {
        guard case .refused(let problem, _) = self else { return false }
        return problem.status == 429 || problem.status == 503
    }
}

/// What rows wait for: an earlier one of the same lane.
private enum Lane: Hashable {
    /// The order within a conversation.
    case order(ConversationID)
    case message(ConversationID, MessageID)
    case kind(ConversationID?, String)
}

extension OutboxRow {
    fileprivate var isMessage: Bool { if case .send = write { true } else { false } }

    fileprivate var isCreation: Bool { if case .createGroup = write { true } else { false } }

    /// Whether it brings people into a conversation, which has limits of its own.
    fileprivate var isAboutPeople: Bool {
        switch write {
        case .createGroup, .putMember: true
        default: false
        }
    }

    fileprivate var isReply: Bool {
        if case .send(_, .some, _, _, _, _, _, _) = write { true } else { false }
    }

    fileprivate var mentionsAll: Bool {
        if case .send(_, _, _, _, _, true, _, _) = write { true } else { false }
    }

    fileprivate var lanes: [Lane] {
        guard let conversation else { return [.kind(nil, write.kind)] }
        switch write {
        case .send, .forward: return [.order(conversation)] + (message.map { [.message(conversation, $0)] } ?? [])
        case .createGroup, .rename, .putMember, .removeMember, .permissions, .lifetime, .liftBan, .removeFromList,
            .accept,
            .decline:
            return [.order(conversation)]
        case .edit, .deleteForMe, .deleteForEveryone, .setTapback, .removeTapback, .pinMessage, .vote, .closePoll:
            return message.map { [.message(conversation, $0)] } ?? []
        case .read, .clearHistory, .settings, .settingsInConversation, .mark, .block, .draft:
            return [.kind(conversation, write.kind)]
        }
    }

    /// At least the bytes of its item in a batch.
    fileprivate var size: Int {
        guard case .send(let text, _, let mentions, _, let extra, _, _, let poll) = write else { return 0 }
        let extraBytes = extra == nil ? 0 : ContractLimits.messageExtraBytes
        let pollBytes = poll?.options.reduce(0) { $0 + 2 * $1.utf8.count + 10 } ?? 0
        return pollBytes + 2 * text.utf8.count + 80 * mentions.count + 60 * fileCount + extraBytes + 300
    }
}
