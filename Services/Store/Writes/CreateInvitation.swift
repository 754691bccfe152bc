import Bytes
import JSON
import Models
import Postgres
import ServiceKit
import Wire

/// A member makes an invitation, by which others join.
struct CreateInvitation: WriteKind {
    struct Input: NamedFields {
        let codeHash: Parameter<UUIDBytes>
        let expiresAt: Parameter<Timestamp?>
        let maxUses: Parameter<Int32?>
        let needsApproval: Parameter<Bool>
    }

    static let statement = PreparedWrite<Input>("create_invitation", PackageResources.create_invitation_sql, .store)

    let invitation: NewInvitation

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.codeHash, to: InvitationCode.hash(of: invitation.secret))
        parameters.set(input.expiresAt, to: invitation.expiresAt)
        parameters.set(input.maxUses, to: invitation.maxUses)
        parameters.set(input.needsApproval, to: invitation.needsApproval)
    }

    var subject: UUIDBytes? { invitation.id.uuid }
    var changes: WriteChanges { .none }
    var status: UInt16 { 201 }

    var content: WriteContent? {
        { queries, head in
            let code = InvitationCode(head.conversation, secret: invitation.secret)
            return try await queries.invitation(invitation.id, code, head)
        }
    }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .invalid: "expiresAt: must be in the future"
        case .forbidden:
            """
            only members whose role may add members here do this, and only an owner or an admin where owners and admins decide \
            who joins
            """
        case .conflict:
            """
            a direct conversation has no invitations, the id was used for another one, the group has \
            \(ContractLimits.invitationsPerConversation) invitations, as many as it may, or \(WriteStatement.everyConflict)
            """
        default: nil
        }
    }
}

/// Nobody joins by an invitation any more.
struct RevokeInvitation: WriteKind {
    static let statement = PreparedWrite<NoFields>("revoke_invitation", PackageResources.revoke_invitation_sql, .store)

    let invitation: InvitationID

    var subject: UUIDBytes? { invitation.uuid }
    var changes: WriteChanges { .none }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: "members revoke their own invitations, and owners and admins all"
        case .conflict: WriteStatement.everyConflict
        default: nil
        }
    }
}
