import Bus
import Bytes
import Models
import Postgres
import Reactor
import Wire

/// Announces every change and answers every command after a commit.
@Reactor
final class CommandOutcomes {
    private let bus: Bus
    private let announcer: Announcer
    private let queries: Queries
    private let erasures: Erasures
    private let revocations: Revocations
    /// The maximum number of repeated messages that are read at a time. In a backlog most repetitions arrive after
    /// their response, and no requester waits for another one. Any that does is asked to retry later, which costs less
    /// than an immediate retry.
    private static let repeatedLimit = 8_192
    private var repeatedCount = 0

    init(bus: Bus, announcer: Announcer, queries: Queries, erasures: Erasures, revocations: Revocations) {
        self.bus = bus
        self.announcer = announcer
        self.queries = queries
        self.erasures = erasures
        self.revocations = revocations
    }

    /// `rows` has the rows of each run of the plan.
    func announceAndAnswer(_ commands: [Command], _ plan: BatchPlan, _ rows: ArraySlice<Rows>) {
        var sent: [SendStatement.Outcome?] = Array(repeating: nil, count: plan.items.count)
        var next = rows.startIndex
        for run in plan.runs {
            switch run {
            case .send(let range, let layout):
                SendStatement.forEachOutcome(in: rows[next], layout) { sent[range.lowerBound + $0] = $1 }
                announce(plan.items[range], sent[range], commands)
            case .create(let index): answerCreation(commands[index], rows[next])
            case .write(let index): answerWrite(commands[index], rows[next], changes: rows[next + 1])
            case .settings(let index): answerSettings(commands[index], rows[next])
            case .read: announceReads(plan.reads, rows[next])
            case .beginErasure(let index): answerErasure(commands[index], rows[next])
            case .revoke(let index): answerRevocation(commands[index], rows[next])
            case .erase(let index, let isAnnounced):
                answerStep(commands[index], rows[next], changes: isAnnounced ? rows[next + 1] : nil)
            }
            next += run.statementCount
        }
        answerSends(commands, plan.items, sent)
        answerReads(commands)
    }

    // MARK: Messages

    /// Announces messages in the order of the items, which is the order of `seq` within each conversation.
    private func announce(
        _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>, _ commands: [Command]
    ) {
        for (item, outcome) in zip(items, outcomes) {
            if case .created(let created) = outcome { announcer.announce(item, created, commands[item.command].trace) }
        }
    }

    private func answerSends(_ commands: [Command], _ items: [SendItem], _ outcomes: [SendStatement.Outcome?]) {
        var start = 0
        while start < items.count {
            let index = items[start].command
            var end = start + 1
            while end < items.count, items[end].command == index { end += 1 }
            answer(commands[index], items[start..<end], outcomes[start..<end])
            start = end
        }
    }

    private func answer(
        _ command: Command, _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>
    ) {
        let hasRepetition = outcomes.contains { if case .repeated = $0 { true } else { false } }
        if hasRepetition {
            answerRepetition(command.request, items, outcomes)
        } else {
            bus.answer(command.request, status: 200) { buffer in
                for index in items.indices { append(items[index], outcomes[index], to: &buffer) }
            }
        }
    }

    private func append(_ item: SendItem, _ outcome: SendStatement.Outcome?, to buffer: inout ByteBuffer) {
        switch outcome {
        case .created(let created):
            SendResponse.append(status: 201, to: &buffer) { $0.append(item, created) }
        case .refused(let problem):
            SendResponse.append(problem, to: &buffer)
        case .repeated, nil:
            preconditionFailure("a statement returns one row for each message, and repetitions are read first")
        }
    }

    private func answerRepetition(
        _ request: RequestKey, _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>
    ) {
        guard repeatedCount == 0 || repeatedCount + items.count <= Self.repeatedLimit else {
            return bus.answer(request, Problem(.unavailable, "the store has too many repetitions to answer"))
        }
        repeatedCount += items.count
        let repeated = zip(items, outcomes).map { RepeatedItem($0, $1) }
        Reactor.spawn { [self] in
            await answerWithRepetitions(request, repeated)
            repeatedCount -= repeated.count
        }
    }

    /// Answers a command that contains repetitions. The response to a repetition is the message's current state, so it
    /// has to be read. The command's other messages are read with it. That is rare, and it avoids keeping their rows
    /// and the command's frame.
    private func answerWithRepetitions(_ request: RequestKey, _ items: [RepeatedItem]) async {
        var answer = ByteBuffer()
        for item in items {
            if let problem = item.problem {
                SendResponse.append(problem, to: &answer)
                continue
            }
            guard let message = await queries.message(item.id, in: item.conversation, of: item.sender) else {
                return bus.abandon(request)
            }
            SendResponse.append(status: item.isNew ? 201 : 200, to: &answer) { $0.append(message) }
        }
        let bytes = answer.array
        bus.answer(request, status: 200) { $0.append(bytes) }
    }

    // MARK: Read positions

    private func announceReads(_ entries: [ReadPositions.Entry], _ rows: Rows) {
        for row in rows {
            let told = ReadStatement.decode(row)
            announcer.announce(entries[told.index], told)
        }
    }

    /// Answers read positions. A position reported before is a success, too.
    private func answerReads(_ commands: [Command]) {
        for command in commands {
            if case .read = command.action { bus.answer(command.request, status: 204) }
        }
    }

    // MARK: Writes

    private func answerWrite(_ command: Command, _ rows: Rows, changes: Rows) {
        guard case .write(let write) = command.action, let row = rows.first else { return }
        let result = WriteStatement.decode(row)
        if let change = result.change { announcer.announce(write, change, changes, command.trace) }
        if let problem = result.problem {
            bus.answer(command.request, problem.explained(for: write.action))
        } else if write.action.answersWithoutBody {
            bus.answer(command.request, status: 204)
        } else {
            Reactor.spawn { [self] in await queries.answerWrite(command.request, write) }
        }
    }

    private func answerSettings(_ command: Command, _ rows: Rows) {
        guard case .settings(let settings) = command.action, let row = rows.first else { return }
        let result = SettingsStatement.decode(row)
        if let change = result.change { announcer.announce(settings.user, change) }
        if let problem = result.problem {
            let keyWasUsed = Problem(problem, "the Idempotency-Key was used for another request")
            bus.answer(command.request, problem == .unauthenticated ? .erasedUser : keyWasUsed)
        } else {
            Reactor.spawn { [self] in await queries.answerSettings(command.request, of: settings.user) }
        }
    }

    // MARK: Erasures

    private func answerErasure(_ command: Command, _ rows: Rows) {
        guard case .beginErasure(let erasure) = command.action, let row = rows.first else { return }
        let progress = ErasureProgress(row)
        erasures.began(erasure.user, progress)
        bus.answer(command.request, status: progress.isDone ? 200 : 202) { $0.append(progress, of: erasure.user) }
    }

    private func answerStep(_ command: Command, _ rows: Rows, changes: Rows?) {
        guard case .erase(let step) = command.action, let row = rows.first else { return }
        if let changes { announcer.announce(step, row, changes) }
        bus.answer(command.request, status: 200) { $0.append(bigEndian: ErasureStatements.next(step, row)) }
    }

    private func answerRevocation(_ command: Command, _ rows: Rows) {
        guard case .revoke(let asked) = command.action, let row = rows.first else { return }
        let revocation = Revocation(number: row[0], asked.user, before: row[1])
        if row[2] { revocations.moved(revocation) }
        bus.answer(command.request, status: 200) { revocation.write(to: &$0) }
    }

    // MARK: Conversations

    private func answerCreation(_ command: Command, _ rows: Rows) {
        guard case .create(let creation) = command.action else { return }
        let (joined, obstacle) = CreateStatement.decode(rows)
        if let at = joined.first?.at { announcer.announce(creation, at: at, joined, command.trace) }
        Reactor.spawn { [self] in await queries.answerCreation(command.request, creation, obstacle) }
    }
}

/// The facts about a message that are needed to read it for the response.
private struct RepeatedItem {
    let conversation: ConversationID
    let sender: UserID
    let id: MessageID
    let isNew: Bool
    let problem: Problem?

    init(_ item: SendItem, _ outcome: SendStatement.Outcome?) {
        (conversation, sender, id) = (item.conversation, item.sender, item.message.id)
        isNew = if case .created = outcome { true } else { false }
        problem = if case .refused(let problem) = outcome { problem } else { nil }
    }
}

extension ByteBuffer {
    /// Appends a new message as its sender receives it.
    fileprivate mutating func append(_ item: SendItem, _ created: SendStatement.Created) {
        append(
            MessageFields(item, created), parent: created.parentView,
            receipts: Receipts(recipients: created.recipientCount, delivered: 0, read: 0))
    }
}

extension MessageFields {
    /// A message that was just created.
    init(_ item: SendItem, _ created: SendStatement.Created) {
        conversation = item.conversation
        id = item.message.id
        seq = created.seq
        changeSeq = created.seq
        sender = item.sender
        kind = item.message.replyTo == nil ? .text : .reply
        text = created.isDeleted ? nil : item.message.text
        parent = item.message.replyTo.map { Parent(id: $0, seq: created.parent?.seq ?? 0) }
        mentions = created.isDeleted ? UnsafeRawBufferPointer(start: nil, count: 0) : item.message.mentions
        sentAt = item.message.sentAt
        createdAt = created.createdAt
        deletedAt = created.isDeleted ? created.createdAt : nil
    }
}
