import Bus
import Bytes
import Models
import Postgres
import Reactor
import Wire

/// A write of a user to a conversation, other than sending messages. `WriteKind` is what the kinds differ in.
struct ConversationWrite: BatchStep {
    var isOfOneSlot: Bool { write.isOfOneSlot }

    static var statements: [Statement] {
        Write.Action.kinds.flatMap { $0.statements } + [FeedStatement.latest.untyped, WrittenMessage.statement]
    }

    private let write: Write
    private let kind: any WriteKind

    init(from reader: inout ByteReader) throws(WireError) { self.init(try Write(from: &reader)) }

    init(_ write: Write) { self.init(write, write.kind) }

    init(_ write: Write, _ kind: any WriteKind) {
        self.write = write
        self.kind = kind
    }

    func lock(_ locks: inout Locks) {
        locks.insert(conversation: write.conversation)
        locks.insert(person: write.actor)
        if kind.changesText { locks.insert(searchOf: write.conversation) }
        if let key = write.key {
            locks.insert(key: key, of: write.actor)
            locks.insert(user: write.actor)
        }
        kind.lock(&locks, for: write)
        if let notice = kind.notice(by: write.actor) { locks.insert(streamOf: notice.user) }
    }

    /// Adds the write and, after it, a statement that reads what is announced of it.
    func add(to batch: inout Batch, _ request: RequestKey, _ limit: ConversationLimit) {
        kind.add(write, request, limit, to: &batch)
        switch kind.changes {
        case .none: break
        case .message(let change):
            guard let message = kind.message else { break }
            let voter = change == .pollVoted ? write.actor : nil
            WrittenMessage.add(message, in: write.conversation, voter: voter, to: &batch)
        case .any: FeedStatement.addLatest(of: write.conversation, to: &batch)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let result = WriteStatement.decode(rows.row)
        if result.problem == .forbidden, kind.answersRequests,
            outcomes.isAnswered(command, of: write.conversation, by: write.actor, reopens: kind.reopensRequests)
        {
            return
        }
        if result.problem == .unavailable, let secret = kind.askedBySecret {
            return outcomes.ask(command, write, by: secret)
        }
        if let change = result.change {
            announce(change, rows, command.trace, outcomes.announcer)
            if kind.releasesMedia, change.detail ?? 0 > 0 { outcomes.releases.note(write.conversation.slot) }
            kind.carriedOut(change, write, outcomes)
        }
        if let code = result.problem {
            outcomes.bus.respond(to: command.request, kind.problem(code))
        } else if let answer = kind.answer {
            let queries = outcomes.queries
            Reactor.spawn { await respond(to: command.request, answer, queries) }
        } else if let content = content(of: result, rows) {
            let queries = outcomes.queries, status = result.change == nil ? kind.unchangedStatus : kind.status
            Reactor.spawn { await respond(to: command.request, status, content, queries) }
        } else {
            outcomes.bus.respond(to: command.request, status: 204)
        }
    }

    @Reactor private func announce(
        _ change: WriteStatement.Result.Change, _ rows: StepRows, _ trace: TraceContext?, _ announcer: Announcer
    ) {
        announce(change, announcer)
        switch kind.changes {
        case .none: break
        case .message(let kind): announce(change, kind, of: rows[1], trace, announcer)
        case .any: announcer.announce(write.conversation, change.range, of: rows[1], trace)
        }
    }

    /// Announces what is told to a user alone.
    @Reactor func announce(_ change: WriteStatement.Result.Change, _ announcer: Announcer) {
        guard let useq = change.useq, let notice = kind.notice(by: write.actor) else { return }
        var fields = PrivateChangeFields(useq: useq, kind: notice.kind, at: change.at, conversation: write.conversation)
        notice.fill(&fields, change)
        announcer.announce(fields, to: notice.user, causedIn: write.conversation.slot)
    }

    /// Announces the change of a message. None has happened to one that is not there yet.
    @Reactor private func announce(
        _ change: WriteStatement.Result.Change, _ kind: ChangeKind, of rows: Rows, _ trace: TraceContext?,
        _ announcer: Announcer
    ) {
        guard let message = WrittenMessage(rows, in: write.conversation) else { return }
        announcer.announce(
            ChangeFields(
                conversation: write.conversation, seq: change.seq, kind: kind, at: change.at, actor: write.actor,
                content: .message(message.fields)), trace)
    }

    /// What reads the response. The state behind a write that has just happened was read with it.
    private func content(of result: WriteStatement.Result, _ rows: StepRows) -> WriteContent? {
        guard kind.content != nil, case .message = kind.changes, result.change != nil,
            let message = WrittenMessage(rows[1], in: write.conversation), message.isSameToAll
        else { return kind.content }
        return { queries, head in try await queries.json(message, for: head.reader) }
    }

    @Reactor private func respond(
        to request: RequestKey, _ answer: @escaping WriteAnswer.Reading, _ queries: Queries
    ) async {
        await queries.finish(request, for: .user(write.actor)) {
            try await answer(queries, ConversationQuery(write.conversation, reader: write.actor))
        }
    }

    @Reactor private func respond(
        to request: RequestKey, _ status: UInt16, _ content: @escaping WriteContent, _ queries: Queries
    ) async {
        await queries.finish(request, status: status, for: .user(write.actor)) {
            try await content(queries, ConversationQuery(write.conversation, reader: write.actor))
        }
    }
}

extension WriteKind {
    func add(_ write: Write, _ request: RequestKey?, _ limit: ConversationLimit, to batch: inout Batch) {
        batch.execute(Self.statement) { parameters, input in
            parameters.set(input.write, to: write, subject, request)
            set(input.own, in: &parameters, limit)
        }
    }
}
