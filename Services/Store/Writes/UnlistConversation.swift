import Models
import Postgres

/// A former member takes a conversation out of their list.
struct UnlistConversation: WriteKind {
    struct Input: NamedFields {
        let limit: Parameter<Int32>
    }

    static let statement = PreparedWrite<Input>(
        "unlist_conversation", PackageResources.unlist_conversation_sql, .store)

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.limit, to: limit.unlisted)
    }

    var changes: WriteChanges { .none }

    func notice(by actor: UserID) -> PrivateNotice? { PrivateNotice(to: actor, .conversationRemoved) }

    func explanation(of code: Problem.Code) -> String? {
        guard code == .conflict else { return nil }
        return """
            members leave before they remove it, you have removed as many as a user may, or \(WriteStatement.everyConflict)
            """
    }
}
