import Models
import Postgres
import ServiceKit
import Slots
import Wire

/// A user becomes a member by an invitation, where nobody else decides (`AskToJoin`).
struct JoinConversation: WriteKind {
    struct Input: NamedFields {
        let limit: Parameter<Int32>
        let memberLimit: Parameter<Int32>
    }

    static let statement = PreparedWrite<Input>("join_conversation", PackageResources.join_conversation_sql, .store)
    static var statements: [Statement] { [statement.untyped, AskToJoin.statement.untyped] }

    let secret: UUIDBytes

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.limit, to: limit.ofUser)
        parameters.set(input.memberLimit, to: limit.members)
    }

    var subject: UUIDBytes? { InvitationCode.hash(of: secret) }

    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(user: write.actor)
        locks.insert(newStreamOf: write.actor)
        locks.insert(invitation: InvitationCode.hash(of: secret), to: write.conversation)
    }

    /// As of one who is added (`PutMember`).
    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .conversationJoined) { fields, change in
            fields.joinsSilently = change.positions == 0
            fields.lastSeq = change.seq - change.positions
            fields.memberCount = Int(change.detail ?? 0)
        }
    }

    var answer: WriteAnswer.Reading? { { queries, head in try await queries.joined(head) } }
    var askedBySecret: UUIDBytes? { secret }
    var answersRequests: Bool { true }
    var reopensRequests: Bool { true }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .notFound: Problem.unknownInvitation.detail
        case .conflict:
            """
            you are in as many conversations as a user may be, were in this one \(PutMember.staysLimit) times, or \
            \(WriteStatement.keyWasUsed)
            """
        case .tooLarge: Problem.fullConversation.detail
        default: nil
        }
    }
}
