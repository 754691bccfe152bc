import Models
import Postgres

/// Sets a tapback. The last tapback of a user on a message wins.
struct SetTapback: WriteKind {
    struct Input: NamedFields {
        let kind: Parameter<String>
    }

    static let statement = PreparedWrite<Input>("set_tapback", PackageResources.set_tapback_sql, .store)

    let message: MessageID?
    let kind: String

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.kind, to: kind)
    }

    var changes: WriteChanges { .message(.tapbackSet) }
    var answersRequests: Bool { true }
    var content: WriteContent? { messageContent }

    func explanation(of code: Problem.Code) -> String? {
        code == .conflict ? WriteStatement.messageIsClosed : nil
    }
}
