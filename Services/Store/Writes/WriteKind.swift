import Models
import Postgres
import Reactor
import Wire

/// A kind of write: what it has besides what all writes to a conversation have in common. See `ConversationWrite`.
protocol WriteKind: Sendable {
    /// The parameters of its own.
    associatedtype Input: NamedFields

    static var statement: PreparedWrite<Input> { get }

    /// All statements that carry it out.
    static var statements: [Statement] { get }

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit)

    /// The message that it concerns.
    var message: MessageID? { get }

    /// Distinguishes a repetition from another request under the same key.
    var subject: UUIDBytes? { get }

    /// What happens in the conversation, to be announced.
    var changes: WriteChanges { get }

    /// Whether a text is replaced or erased. The index has to follow.
    var changesText: Bool { get }

    /// Locks more than every write does.
    func lock(_ locks: inout Locks, for write: Write)

    /// What the write reports on a private stream, if it changes anything.
    func notice(by actor: UserID) -> PrivateNotice?

    /// Reads the response, which is the present state, also when the write is repeated. Nil: 204 without a body.
    var content: WriteContent? { get }

    /// Reads the response where its status depends on it.
    var answer: WriteAnswer.Reading? { get }

    /// The status of a response with content.
    var status: UInt16 { get }

    /// The same where nothing has changed.
    var unchangedStatus: UInt16 { get }

    /// Whether it accepts a request that waits, where the actor is no member for that alone.
    var answersRequests: Bool { get }

    /// Whether it accepts one that was declined, too.
    var reopensRequests: Bool { get }

    /// Where others may have to decide: what the actor asks them by. Nothing has happened then (`CommandOutcomes.ask`).
    var askedBySecret: UUIDBytes? { get }

    /// Whether messages may lose attachments, of which `media` is to be told. The write's `detail` says how many did.
    var releasesMedia: Bool { get }

    /// What follows once it is committed and has changed something.
    @Reactor func carriedOut(_ change: WriteStatement.Result.Change, _ write: Write, _ outcomes: CommandOutcomes)

    /// Why it was refused with this code, the field at fault first. Nil: as every write.
    func explanation(of code: Problem.Code) -> String?
}

extension WriteKind {
    static var statements: [Statement] { [statement.untyped] }
    var message: MessageID? { nil }
    var subject: UUIDBytes? { message?.uuid }
    var changes: WriteChanges { .any }
    var changesText: Bool { false }
    func lock(_: inout Locks, for _: Write) {}
    func notice(by _: UserID) -> PrivateNotice? { nil }
    var content: WriteContent? { nil }
    var answer: WriteAnswer.Reading? { nil }
    var status: UInt16 { 200 }
    var unchangedStatus: UInt16 { status }
    var answersRequests: Bool { false }
    var reopensRequests: Bool { false }
    var askedBySecret: UUIDBytes? { nil }
    var releasesMedia: Bool { false }
    @Reactor func carriedOut(_: WriteStatement.Result.Change, _: Write, _: CommandOutcomes) {}
    func explanation(of _: Problem.Code) -> String? { nil }
}

extension WriteKind where Input == NoFields {
    func set(_: Input, in _: inout Parameters, _: ConversationLimit) {}
}

extension Write {
    /// The type that carries it out.
    var kind: any WriteKind {
        switch action {
        case .edit(let message, let text): EditMessage(message: message, text: text, isSealed: false)
        case .editSealed(let message, let sealed): EditMessage(message: message, text: sealed, isSealed: true)
        case .deleteForEveryone(let message): DeleteMessage(message: message)
        case .hide(let message): HideMessage(message: message)
        case .setTapback(let message, let kind): SetTapback(message: message, kind: kind)
        case .removeTapback(let message): RemoveTapback(message: message)
        case .putMember(let user, let role, let introduction):
            PutMember(user: user, role: role, introduction, by: actor)
        case .removeMember(let user): RemoveMember(user: user)
        case .rename(let title): RenameConversation(title: title)
        case .clearHistory(let through): ClearHistory(through: through)
        case .putSettings(let readReceipts): PutConversationSettings(readReceipts: readReceipts)
        case .unlist: UnlistConversation()
        case .mark(let mark): MarkConversation(mark: mark)
        case .block(let user, let isBlocked): BlockUser(user: user, isBlocked: isBlocked)
        case .draft(let text, let replyTo): PutDraft(text: text, replyTo: replyTo)
        case .schedule(let message): ScheduleMessage(scheduled: message, conversation: conversation)
        case .cancelScheduled(let message): CancelScheduled(id: message)
        case .acceptRequest: AcceptRequest()
        case .declineRequest: DeclineRequest()
        case .setPermissions(let permissions): SetPermissions(permissions: permissions)
        case .setLifetime(let seconds, let start): SetLifetime(seconds: seconds, start: start)
        case .liftBan(let user): LiftBan(user: user)
        case .declineJoinRequest(let user): DeclineJoinRequest(user: user)
        case .createInvitation(let invitation): CreateInvitation(invitation: invitation)
        case .revokeInvitation(let invitation): RevokeInvitation(invitation: invitation)
        case .join(let secret): JoinConversation(secret: secret)
        case .report(let report): CreateReport(report: report)
        case .pinMessage(let message): PinMessage(message: message)
        case .unpinMessage(let message): UnpinMessage(message: message)
        case .vote(let message, let options): Vote(message: message, options: options)
        case .closePoll(let message): ClosePoll(message: message)
        case .resolveReport(let resolution): ResolveReport(resolution: resolution)
        case .setRetention(let days): SetRetention(days: days)
        }
    }
}

extension Write.Action {
    static let kinds: [any WriteKind.Type] = [
        EditMessage.self, DeleteMessage.self, HideMessage.self, SetTapback.self, RemoveTapback.self, PutMember.self,
        RemoveMember.self, RenameConversation.self, ClearHistory.self, PutConversationSettings.self,
        UnlistConversation.self, MarkConversation.self, BlockUser.self, PutDraft.self, AcceptRequest.self,
        DeclineRequest.self, SetPermissions.self, SetLifetime.self, LiftBan.self, CreateInvitation.self,
        RevokeInvitation.self,
        JoinConversation.self, CreateReport.self, ResolveReport.self, PinMessage.self, UnpinMessage.self,
        DeclineJoinRequest.self, ScheduleMessage.self, CancelScheduled.self, Vote.self, ClosePoll.self,
        SetRetention.self,
    ]
}

extension WriteKind {
    /// The message that the write concerns.
    var messageContent: WriteContent? {
        guard let message else { return nil }
        return { queries, head in
            try await queries.message(MessageQuery(head, message: message), by: MessageStatement.ofWriter)
        }
    }
}

/// What a write does to its conversation, as far as all members learn of it.
enum WriteChanges {
    /// Nothing: it concerns its actor alone.
    case none
    /// One change of its message, if that is there.
    case message(ChangeKind)
    /// Others, two at most.
    case any
}

/// Reads the response to a write, for the user whose view of the conversation is asked for.
typealias WriteContent = @Reactor (Queries, ConversationQuery) async throws -> [UInt8]

/// A response whose status depends on what is there.
struct WriteAnswer {
    let status: UInt16
    let body: [UInt8]

    /// Reads it for the user whose view of the conversation is asked for.
    typealias Reading = @Reactor (Queries, ConversationQuery) async throws -> WriteAnswer
}

/// What a write reports on the private stream of a user.
struct PrivateNotice {
    let user: UserID
    let kind: PrivateKind
    /// Sets the fields of the kind.
    let fill: (inout PrivateChangeFields, WriteStatement.Result.Change) -> Void

    init(
        to user: UserID, _ kind: PrivateKind,
        _ fill: @escaping (inout PrivateChangeFields, WriteStatement.Result.Change) -> Void = { _, _ in }
    ) {
        self.user = user
        self.kind = kind
        self.fill = fill
    }
}
