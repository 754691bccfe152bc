import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// A user becomes a member of a conversation that they were asked about.
struct AcceptRequest: WriteKind {
    struct Input: NamedFields {
        let limit: Parameter<Int32>
        let reopens: Parameter<Bool>
    }

    static let statement = PreparedWrite<Input>("accept_request", PackageResources.accept_request_sql, .store)

    /// Also what was declined.
    var reopens = true

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.limit, to: limit.ofUser)
        parameters.set(input.reopens, to: reopens)
    }

    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(user: write.actor)
        locks.insert(newStreamOf: write.actor)
    }

    /// The session is live from here on: what came since the stay began is history.
    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .conversationJoined) { fields, change in
            fields.joinsSilently = true
            fields.lastSeq = change.seq
            fields.start = change.seq - change.positions
            fields.memberCount = Int(change.detail ?? 0)
        }
    }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: "you have left it"
        case .conflict:
            "you are in as many conversations as a user may be, or \(WriteStatement.everyConflict)"
        default: nil
        }
    }
}

/// A user sees nothing more of a conversation that they were asked about.
struct DeclineRequest: WriteKind {
    static let statement = PreparedWrite<NoFields>("decline_request", PackageResources.decline_request_sql, .store)

    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(user: write.actor)
        locks.insert(newStreamOf: write.actor)
    }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .request) { fields, _ in fields.isWaiting = false }
    }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: "you have left it"
        case .conflict: "you are a member of it, or \(WriteStatement.everyConflict)"
        default: nil
        }
    }
}

/// Says yes to a conversation on behalf of whoever writes in it, or opens it as well, ahead of that in the same batch. What they
/// do is answered; this is announced alone.
struct AnswerRequest: BatchStep {
    var isOfOneSlot: Bool { false }

    static var statements: [Statement] { [AcceptRequest.statement.untyped] }

    private let write: Write
    private let kind: AcceptRequest

    /// - Parameter reopens: also one that was declined.
    init(of conversation: ConversationID, by user: UserID, reopens: Bool) {
        write = Write(conversation, by: user, key: nil, .acceptRequest)
        kind = AcceptRequest(reopens: reopens)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        write = try Write(from: &reader)
        kind = AcceptRequest()
    }

    func lock(_ locks: inout Locks) { ConversationWrite(write, kind).lock(&locks) }

    /// Nothing is kept for repetitions: where it has happened it is not due.
    func add(to batch: inout Batch, _: RequestKey, _ limit: ConversationLimit) {
        kind.add(write, nil, limit, to: &batch)
    }

    func finish(_: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        guard let change = WriteStatement.decode(rows.row).change else { return }
        ConversationWrite(write, kind).announce(change, outcomes.announcer)
    }
}
