import Models
import Postgres

/// An administrator decides how many days messages stay in a conversation.
struct SetRetention: WriteKind {
    struct Input: NamedFields {
        let days: Parameter<Int32?>
    }

    static let statement = PreparedWrite<Input>("set_retention", PackageResources.set_retention_sql, .store)

    /// Nil: as in all conversations.
    let days: Int32?

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.days, to: days)
    }

    var changes: WriteChanges { .none }

    func explanation(of code: Problem.Code) -> String? {
        code == .notFound ? Problem.unknownConversation.detail : nil
    }
}
