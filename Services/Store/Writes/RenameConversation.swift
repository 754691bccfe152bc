import Models
import Postgres

/// A member gives a group another title.
struct RenameConversation: WriteKind {
    struct Input: NamedFields {
        let title: Parameter<String>
    }

    static let statement = PreparedWrite<Input>(
        "rename_conversation", PackageResources.rename_conversation_sql, .store)

    let title: String

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.title, to: title)
    }

    var content: WriteContent? { { queries, head in try await queries.conversation(head) } }

    func explanation(of code: Problem.Code) -> String? {
        code == .forbidden ? "only members whose role may rename it do this" : nil
    }
}
