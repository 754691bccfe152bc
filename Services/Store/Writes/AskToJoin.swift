import Models
import Postgres
import ServiceKit
import Slots
import Wire

/// A user asks to join by an invitation, and owners and admins decide. It is how a `join` goes on: one that comes again under its
/// key, or has found somebody who waits already, is answered as that.
struct AskToJoin: WriteKind {
    struct Input: NamedFields {
        let maker: Parameter<UserID>
        let makerSlot: Parameter<Slot>
        let limit: Parameter<Int32>
        let memberLimit: Parameter<Int32>
    }

    static let statement = PreparedWrite<Input>("ask_to_join", PackageResources.ask_to_join_sql, .store)

    let secret: UUIDBytes
    /// Of the invitation.
    let maker: UserID

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.maker, to: maker)
        parameters.set(input.makerSlot, to: maker.slot)
        parameters.set(input.limit, to: limit.ofUser)
        parameters.set(input.memberLimit, to: limit.members)
    }

    var subject: UUIDBytes? { InvitationCode.hash(of: secret) }
    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(user: write.actor)
        locks.insert(newStreamOf: maker)
        locks.insert(invitation: InvitationCode.hash(of: secret), to: write.conversation)
    }

    /// The maker decides, or did when they made it.
    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: maker, .joinRequested) { fields, _ in fields.requester = actor }
    }

    var answer: WriteAnswer.Reading? { { queries, head in try await queries.joined(head) } }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .notFound: Problem.unknownInvitation.detail
        case .conflict:
            """
            you are in as many conversations as a user may be, were in this one \(PutMember.staysLimit) times, \
            \(ContractLimits.joinRequestsPerConversation) others wait to join, or \(WriteStatement.keyWasUsed)
            """
        case .tooLarge: Problem.fullConversation.detail
        case .unavailable: "you were added meanwhile: try again"
        default: nil
        }
    }
}

/// Somebody who asks to join is not let in, or asks no more.
struct DeclineJoinRequest: WriteKind {
    static let statement = PreparedWrite<LiftBan.Input>(
        "decline_join_request", PackageResources.decline_join_request_sql, .store)

    let user: UserID

    func set(_ input: LiftBan.Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.user, to: user)
    }

    var subject: UUIDBytes? { UUIDBytes(hashOf: user.name) }
    var changes: WriteChanges { .none }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlyAdmin
        case .conflict: WriteStatement.everyConflict
        default: nil
        }
    }
}
