import Models
import Postgres
import Wire

/// How a user decides for one conversation.
struct PutConversationSettings: WriteKind {
    struct Input: NamedFields {
        let sets: Parameter<Bool>
        let readReceipts: Parameter<Bool?>
    }

    static let statement = PreparedWrite<Input>(
        "put_conversation_settings", PackageResources.put_conversation_settings_sql, .store)

    let readReceipts: SettingChange

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.sets, to: readReceipts != .leave)
        parameters.set(input.readReceipts, to: readReceipts.value)
    }

    var changes: WriteChanges { .none }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .settingsChanged) { fields, change in
            fields.settings = .inConversation(ConversationSettings(detail: change.detail ?? 0))
        }
    }

    var content: WriteContent? { { queries, head in try await queries.conversationSettings(head) } }

    func explanation(of code: Problem.Code) -> String? {
        code == .conflict ? WriteStatement.everyConflict : nil
    }
}
