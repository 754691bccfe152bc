import Models
import Postgres

/// What a user sees of a conversation begins later, for them alone.
struct ClearHistory: WriteKind {
    struct Input: NamedFields {
        let through: Parameter<Int64>
    }

    static let statement = PreparedWrite<Input>("clear_history", PackageResources.clear_history_sql, .store)

    /// 0: up to the latest change.
    let through: Int64

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.through, to: through)
    }

    var changes: WriteChanges { .none }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .historyCleared) { fields, change in fields.throughSeq = change.detail }
    }
}
