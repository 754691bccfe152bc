import Models
import Wire

extension Problem.Code {
    /// Explains why a write was refused. The field at fault, if any, comes first.
    func explained(for action: Write.Action) -> Problem {
        switch (self, action) {
        case (.unauthenticated, _): .erasedUser
        case (.notFound, .removeMember): Problem(self, "there is no such conversation, or no such member")
        case (.notFound, _) where action.message != nil: Problem(self, "there is no such message")
        case (.notFound, _): .unknownConversation
        case (.forbidden, .edit), (.forbidden, .deleteForEveryone):
            Problem(self, "only its sender, as a member, may do this")
        case (.forbidden, .putMember), (.forbidden, .removeMember): Problem(self, "only an owner may do this")
        case (.forbidden, _): .notAMember
        case (.conflict, .edit), (.conflict, .setTapback):
            Problem(self, "the message takes this no more, or the Idempotency-Key was used for another request")
        case (.conflict, .deleteForEveryone):
            Problem(
                self,
                """
                messageId: \(DeleteMessage.waitingLimit) deletions of messages that have not come are remembered for you \
                in this conversation, or the Idempotency-Key was used for another request
                """)
        case (.conflict, .unlist):
            Problem(
                self,
                """
                members leave before they remove it, you have removed as many as a user may, or the Idempotency-Key was used \
                for another request
                """)
        case (.conflict, .putSettings):
            Problem(self, "the Idempotency-Key was used for another request")
        case (.conflict, .putMember):
            Problem(
                self,
                """
                a direct conversation cannot be changed, the user was erased, is in too many conversations or was in this one \
                \(PutMember.staysLimit) times, or the Idempotency-Key was used for another request
                """
            )
        case (.conflict, _):
            Problem(
                self, "a direct conversation cannot be changed, or the Idempotency-Key was used for another request")
        case (.editWindowClosed, _):
            Problem(self, "a message can be edited for \(ContractLimits.editWindow.components.seconds / 60) minutes")
        case (.tooLarge, _):
            Problem(self, "a conversation has at most \(ContractLimits.membersPerConversation) members")
        default: Problem(self, "refused")
        }
    }
}

extension Problem {
    static let erasedUser = Problem(.unauthenticated, "the user was erased")
}
