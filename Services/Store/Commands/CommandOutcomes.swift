import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Announces every change and answers every command after a commit. Steps do it themselves, with what they find here.
@Reactor
final class CommandOutcomes {
    let bus: Bus
    let announcer: Announcer
    let queries: Queries
    let erasures: Erasures
    let revocations: Revocations
    let releases: MediaReleases
    let profiles: ProfileAnnouncer
    let lifetimes: Lifetimes
    let retention: Retention
    let scheduled: ScheduledSending
    /// The maximum number of repeated messages that are read at a time. In a backlog most repetitions arrive after
    /// their response, and no requester waits for another one. Any that does is asked to retry later, which costs less
    /// than an immediate retry.
    private static let repeatedLimit = 8_192
    private var repeatedCount = 0
    /// Takes a command that is to be carried out again. Returns false if there is no room for it.
    var again: @Reactor (Command) -> Bool = { _ in false }

    init(
        bus: Bus, announcer: Announcer, queries: Queries, erasures: Erasures, revocations: Revocations,
        releases: MediaReleases, profiles: ProfileAnnouncer, lifetimes: Lifetimes, retention: Retention,
        scheduled: ScheduledSending
    ) {
        self.bus = bus
        self.announcer = announcer
        self.queries = queries
        self.erasures = erasures
        self.revocations = revocations
        self.releases = releases
        self.profiles = profiles
        self.lifetimes = lifetimes
        self.retention = retention
        self.scheduled = scheduled
    }

    /// - Parameters:
    ///   - rows: the rows of each statement of the batch.
    ///   - bounds: how many statements come before each run of the plan, and at the end.
    func announceAndRespond(_ commands: [Command], _ plan: BatchPlan, _ rows: [Rows], _ bounds: [Int]) {
        var sent: [SendStatement.Outcome?] = Array(repeating: nil, count: plan.items.count)
        for (index, run) in plan.runs.enumerated() {
            let rows = StepRows(rows[bounds[index]..<bounds[index + 1]])
            switch run {
            case .send(let range, let layout):
                SendStatement.forEachOutcome(in: rows[0], plan.items[range], layout) {
                    sent[range.lowerBound + $0] = $1
                }
                announce(plan.items[range], sent[range], commands)
            case .step(let step, let command): step.finish(commands[command], rows, self)
            case .read: plan.reads.finish(commands, rows, self)
            }
        }
        respondToSends(commands, plan.items, sent)
    }

    /// A user was refused as no member. If that is because they are asked about the conversation, what they did accepts it: the
    /// command comes again behind that. Neither a send nor its statement looks for a request: few are refused.
    ///
    /// - Returns: false when it has come again already. Then the refusal is the response.
    func isAnswered(
        _ command: Command, of conversation: ConversationID, by user: UserID, reopens: Bool = false
    ) -> Bool {
        guard let command = command.answering(AnswerRequest(of: conversation, by: user, reopens: reopens)) else {
            return false
        }
        if !again(command) {
            bus.respond(to: command.request, Problem(.overloaded, "too many requests are in flight"))
        }
        return true
    }

    /// A user comes by an invitation of which others decide. Its maker is told, whose stream has to be locked, so they are looked up
    /// here, and the command comes again as what the user asks. Only few invitations are such.
    func ask(_ command: Command, _ write: Write, by secret: UUIDBytes) {
        Reactor.spawn { [self] in await queries.reading { await lookUpMaker(command, write, by: secret) } }
    }

    private func lookUpMaker(_ command: Command, _ write: Write, by secret: UUIDBytes) async {
        do {
            let maker = try await Requester.user(write.actor).run {
                try await queries.inviter(of: secret, in: write.conversation)
            }
            guard let maker else { return bus.respond(to: command.request, .unknownInvitation) }
            if !again(command.asking(AskToJoin(secret: secret, maker: maker), write)) {
                bus.respond(to: command.request, Problem(.overloaded, "too many requests are in flight"))
            }
        } catch {
            bus.abandon(command.request)
        }
    }

    // MARK: Messages

    /// Announces messages in the order of the items, which is the order of `seq` within each conversation.
    private func announce(
        _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>, _ commands: [Command]
    ) {
        for (item, outcome) in zip(items, outcomes) {
            guard case .created(let created) = outcome else { continue }
            announcer.announce(item, created, commands[item.command].trace)
            if created.isDeleted, !item.message.attachments.isEmpty { releases.note(item.conversation.slot) }
        }
    }

    private func respondToSends(_ commands: [Command], _ items: [SendItem], _ outcomes: [SendStatement.Outcome?]) {
        var start = 0
        while start < items.count {
            let index = items[start].command
            var end = start + 1
            while end < items.count, items[end].command == index { end += 1 }
            respond(to: commands[index], items[start..<end], outcomes[start..<end])
            start = end
        }
    }

    private func respond(
        to command: Command, _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>
    ) {
        let areNew = outcomes.allSatisfy { if case .created = $0 { true } else { false } }
        if !areNew, isRefusedAnswer(command, items, outcomes) { return }
        let hasRepetition = !areNew && outcomes.contains { if case .repeated = $0 { true } else { false } }
        if hasRepetition {
            respondToRepetition(command.request, items, outcomes)
        } else {
            bus.respond(to: command.request, status: 200) { buffer in
                for index in items.indices { append(items[index], outcomes[index], to: &buffer) }
            }
        }
    }

    /// Whether these messages come again, because their sender is no member and may be asked about the conversation.
    private func isRefusedAnswer(
        _ command: Command, _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>
    ) -> Bool {
        let isOfNoMember = outcomes.contains {
            if case .refused(let problem) = $0 { problem == .notAMember } else { false }
        }
        guard isOfNoMember, let item = items.first else { return false }
        return isAnswered(command, of: item.conversation, by: item.sender)
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

    private func respondToRepetition(
        _ request: RequestKey, _ items: ArraySlice<SendItem>, _ outcomes: ArraySlice<SendStatement.Outcome?>
    ) {
        guard repeatedCount == 0 || repeatedCount + items.count <= Self.repeatedLimit else {
            return bus.respond(to: request, Problem(.unavailable, "the store has too many repetitions to answer"))
        }
        repeatedCount += items.count
        let repeated = zip(items, outcomes).map { RepeatedItem($0, $1) }
        Reactor.spawn { [self] in
            await respondWithRepetitions(request, repeated)
            repeatedCount -= repeated.count
        }
    }

    /// Answers a command that contains repetitions. The response to a repetition is the message's current state, so it
    /// has to be read. The command's other messages are read with it. That is rare, and it avoids keeping their rows
    /// and the command's frame.
    private func respondWithRepetitions(_ request: RequestKey, _ items: [RepeatedItem]) async {
        var response = ByteBuffer()
        for item in items {
            if let problem = item.problem {
                SendResponse.append(problem, to: &response)
                continue
            }
            guard let message = await queries.message(item.id, in: item.conversation, of: item.sender) else {
                return bus.abandon(request)
            }
            SendResponse.append(status: item.isNew ? 201 : 200, to: &response) { $0.append(message) }
        }
        let bytes = response.array
        bus.respond(to: request, status: 200) { $0.append(bytes) }
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
        kind =
            item.message.isPoll
            ? .poll : item.message.isSealed ? .sealed : item.message.replyTo == nil ? .text : .reply
        text = created.isDeleted ? nil : item.message.text
        parent = item.message.replyTo.map { Parent(id: $0, seq: created.parent?.seq ?? 0) }
        mentions = created.isDeleted ? UnsafeRawBufferPointer(start: nil, count: 0) : item.message.mentions
        attachments = created.isDeleted || item.message.attachments.isEmpty ? nil : .sent(item.message.attachments)
        poll = created.isDeleted ? nil : item.message.poll.map { .sent($0) }
        extra = created.isDeleted || item.message.extra.isEmpty ? nil : item.message.extra
        origin = created.isDeleted ? nil : item.message.forward?.origin
        sentAt = item.message.sentAt
        createdAt = created.createdAt
        deletedAt = created.isDeleted ? created.createdAt : nil
    }
}
