import Models
import Postgres
import ServiceKit
import Slots
import Wire

/// A user becomes a member, or a member gets another role. Who may is said in `put_member.sql`.
struct PutMember: WriteKind {
    /// Stays of one user in a conversation. All of them come with every `welcome`, whoever brought them about.
    static let staysLimit = 100

    struct Input: NamedFields {
        let user: UserInput
        let role: Parameter<MemberRole?>
        let limit: Parameter<Int32>
        let memberLimit: Parameter<Int32>
        let direct: Parameter<ConversationID>
        let consent: Parameter<Consent>
        let peoplePerDay: Parameter<Int32?>
    }

    static let statement = PreparedWrite<Input>("put_member", PackageResources.put_member_sql, .store)

    let user: UserID
    /// Nil: unchanged, or member.
    let role: MemberRole?
    let introduction: Introduction
    let adder: UserID

    init(user: UserID, role: MemberRole?, _ introduction: Introduction, by adder: UserID) {
        self.user = user
        self.role = role
        self.introduction = introduction
        self.adder = adder
    }

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.user, to: user)
        parameters.set(input.role, to: role)
        parameters.set(input.limit, to: limit.whenAddedByOthers)
        parameters.set(input.memberLimit, to: limit.members)
        parameters.set(input.direct, to: DirectConversation.id(user, adder))
        parameters.set(input.consent, to: limit.decided(introduction.consents.first ?? .byOption))
        parameters.set(input.peoplePerDay, to: introduction.peoplePerDay.map(Int32.init))
    }

    var subject: UUIDBytes? { UUIDBytes(hashOf: user.name) }

    func lock(_ locks: inout Locks, for _: Write) {
        locks.insert(user: user)
        locks.insert(newStreamOf: user)
        locks.insert(directOf: user, with: adder)
        // Whom they have brought in is counted.
        if introduction.peoplePerDay != nil { locks.insert(newStreamOf: adder) }
    }

    /// The session is live after the position before the one that made the user a member.
    func notice(by _: UserID) -> PrivateNotice? {
        PrivateNotice(to: user, .conversationJoined) { fields, change in
            guard change.detail ?? 0 > 0 else {
                fields.kind = .request
                fields.isWaiting = true
                return
            }
            // Of who was a member to the others before, no change tells.
            fields.joinsSilently = change.positions == 0
            fields.lastSeq = change.seq - change.positions
            fields.memberCount = Int(change.detail ?? 0)
        }
    }

    var content: WriteContent? { { queries, head in try await queries.member(user, head) } }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden:
            """
            only members whose role may add members here do this, only an owner or an admin brings back a user who was \
            removed, and only an owner gives roles
            """
        case .conflict:
            """
            a direct conversation cannot be changed, the user was erased, is in too many conversations or was in this one \
            \(Self.staysLimit) times, or \(WriteStatement.everyConflict)
            """
        case .tooLarge: Problem.fullConversation.detail
        case .refusedByApplication: Problem.refusedMember.detail
        case .unavailable: Problem.undecidedMember.detail
        case .rateLimited: Problem.tooManyPeople.detail
        default: nil
        }
    }
}
