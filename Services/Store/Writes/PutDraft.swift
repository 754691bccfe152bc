import Models
import Postgres
import Wire

/// A user keeps what they have written in a conversation and not sent, or drops it.
struct PutDraft: WriteKind {
    struct Input: NamedFields {
        let text: Parameter<String?>
        let replyId: Parameter<MessageID?>
    }

    static let statement = PreparedWrite<Input>("put_draft", PackageResources.put_draft_sql, .store)

    /// Empty: there is none any more.
    let text: String
    let replyTo: MessageID?

    private var isDropped: Bool { text.isEmpty }

    /// Whether it is dropped. Nothing of the text is kept with the outcome, not even a hash.
    var subject: UUIDBytes? { isDropped ? .zero : nil }

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.text, to: isDropped ? nil : text)
        parameters.set(input.replyId, to: isDropped ? nil : replyTo)
    }

    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) { locks.insert(listsOf: write.actor) }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .draft) { fields, change in
            if !isDropped { fields.draft = KeptDraft(text: text, replyTo: replyTo, at: change.at) }
        }
    }

    func explanation(of code: Problem.Code) -> String? {
        guard code == .conflict else { return nil }
        return """
            text: you have drafts in \(ContractLimits.draftsPerUser) conversations, as many as a user may, or \
            \(WriteStatement.everyConflict)
            """
    }
}
