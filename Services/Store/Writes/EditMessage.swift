import Models
import Postgres

/// The sender gives a message another text.
struct EditMessage: WriteKind {
    struct Input: NamedFields {
        let text: Parameter<String>
        let isSealed: Parameter<Bool>
    }

    static let statement = PreparedWrite<Input>("edit_message", PackageResources.edit_message_sql, .store)

    let message: MessageID?
    let text: String
    let isSealed: Bool

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.text, to: text)
        parameters.set(input.isSealed, to: isSealed)
    }

    var changes: WriteChanges { .message(.messageEdited) }
    var changesText: Bool { true }
    var content: WriteContent? { messageContent }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: "only its sender, as a member who may write here, may do this"
        case .conflict:
            """
            the message is a poll, or \(isSealed ? "not sealed" : "sealed"), or was edited \(ContractLimits.editsPerMessage) times, or \
            takes this no more, or \(WriteStatement.everyConflict)
            """
        case .editWindowClosed:
            "a message can be edited for \(ContractLimits.editWindow.components.seconds / 60) minutes"
        default: nil
        }
    }
}
