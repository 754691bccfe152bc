import Bus
import Bytes
import Models
import Postgres
import Reactor
import Wire

/// What happens after a commit: every change is announced, and every command answered.
@Reactor
final class CommandOutcomes {
    private let bus: Bus
    private let announcer: Announcer
    private let queries: Queries

    init(bus: Bus, announcer: Announcer, queries: Queries) {
        self.bus = bus
        self.announcer = announcer
        self.queries = queries
    }

    /// `rows` has the rows of each run of the plan.
    func announceAndAnswer(_ commands: [Command], _ plan: BatchPlan, _ rows: ArraySlice<Rows>) {
        var sent: [SendStatement.Outcome?] = Array(repeating: nil, count: plan.items.count)
        for (run, rows) in zip(plan.runs, rows) {
            switch run {
            case .send(let range): collect(rows, from: range.lowerBound, into: &sent)
            case .create(let index): answerCreation(commands[index], rows)
            }
        }
        announce(plan.items, sent)
        answerSends(commands, plan.items, sent)
    }

    // MARK: Messages

    private func collect(_ rows: Rows, from start: Int, into outcomes: inout [SendStatement.Outcome?]) {
        for row in rows {
            let (index, outcome) = SendStatement.decode(row)
            outcomes[start + index] = outcome
        }
    }

    /// In the order of the items, which is the order of `seq` within each conversation.
    private func announce(_ items: [SendItem], _ outcomes: [SendStatement.Outcome?]) {
        for (item, outcome) in zip(items, outcomes) {
            if case .created(let created) = outcome { announcer.announce(item, created) }
        }
    }

    private func answerSends(_ commands: [Command], _ items: [SendItem], _ outcomes: [SendStatement.Outcome?]) {
        var start = 0
        while start < items.count {
            let index = items[start].command
            var end = start + 1
            while end < items.count, items[end].command == index { end += 1 }
            answer(commands[index], Array(zip(items[start..<end], outcomes[start..<end])))
            start = end
        }
    }

    private func answer(_ command: Command, _ results: [(SendItem, SendStatement.Outcome?)]) {
        let hasRepetition = results.contains { if case .repeated = $0.1 { true } else { false } }
        if hasRepetition {
            Reactor.spawn { [self] in await answerWithRepetitions(command, results) }
        } else {
            bus.answer(command.request, status: 200) { buffer in
                for (item, outcome) in results { append(item, outcome, to: &buffer) }
            }
        }
    }

    private func append(_ item: SendItem, _ outcome: SendStatement.Outcome?, to buffer: inout ByteBuffer) {
        switch outcome {
        case .created(let created):
            SendAnswer.append(status: 201, to: &buffer) { $0.append(item, created) }
        case .refused(let problem):
            SendAnswer.append(problem, to: &buffer)
        case .repeated, nil:
            preconditionFailure("a statement returns one row for each message, and repetitions are read first")
        }
    }

    /// The answer to a repetition is the message as it is now, so it has to be read. What else the command had is read
    /// with it: that is rare, and the rows it came from need not be kept.
    private func answerWithRepetitions(_ command: Command, _ results: [(SendItem, SendStatement.Outcome?)]) async {
        var answer = ByteBuffer()
        for (item, outcome) in results {
            if case .refused(let problem) = outcome {
                SendAnswer.append(problem, to: &answer)
                continue
            }
            guard let message = await queries.message(item) else { return bus.abandon(command.request) }
            let isNew = if case .created = outcome { true } else { false }
            SendAnswer.append(status: isNew ? 201 : 200, to: &answer) { $0.append(message) }
        }
        let bytes = answer.array
        bus.answer(command.request, status: 200) { $0.append(bytes) }
    }

    // MARK: Conversations

    private func answerCreation(_ command: Command, _ rows: Rows) {
        guard case .create(let creation) = command.action else { return }
        let joined = rows.map(CreateStatement.decode)
        if let at = joined.first?.at { announcer.announce(creation, at: at, joined) }
        Reactor.spawn { [self] in
            await queries.answerCreation(command.request, creation, isNew: !joined.isEmpty)
        }
    }
}

extension ByteBuffer {
    /// A new message as its sender gets it back.
    fileprivate mutating func append(_ item: SendItem, _ created: SendStatement.Created) {
        let parent = created.parent.map { ParentView.visible(sender: $0.sender, text: $0.text) }
        append(
            MessageFields(item, created), parent: parent ?? .unavailable,
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
        text = item.message.text
        parent = item.message.replyTo.map { Parent(id: $0, seq: created.parent?.seq ?? 0) }
        mentions = item.message.mentions
        sentAt = item.message.sentAt
        createdAt = created.createdAt
    }
}
