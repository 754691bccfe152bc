import Models
import Postgres
import Slots

/// The statements of `ReceiptRetention`.
enum RunTrimStatements {
    static let all = [due.untyped, trim.untyped]

    struct Key {
        var conversation: ConversationID
        /// Before the first one: empty.
        var user: String
    }

    /// Before the first horizon.
    static let start = Key(conversation: ConversationID(.zero), user: "")

    struct Found {
        var key: Key
        /// Nil: no run can go.
        var keptFrom: Int64?
    }

    // MARK: What is due

    private struct DueInput: NamedFields {
        let afterConversation: Parameter<ConversationID>
        let afterUser: Parameter<String>
        let slots: Parameter<[Slot]>
    }

    private struct DueColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let userId: Column<String>
        let keptFrom: Column<Int64?>
    }

    private static let due = PreparedStatement<DueInput, DueColumns>(
        "due_run_trims", PackageResources.due_run_trims_sql, .receipt)

    /// A page of horizons behind one of them.
    static func page(
        _ slots: [Slot], after place: Key, on connection: Connection
    ) async throws(DatabaseError) -> [Found] {
        let columns = due.columns
        return try await connection.query(due) { parameters, input in
            parameters.set(input.afterConversation, to: place.conversation)
            parameters.set(input.afterUser, to: place.user)
            parameters.set(input.slots, to: slots)
        }.map { row in
            Found(
                key: Key(conversation: row[columns.conversationId], user: row[columns.userId]),
                keptFrom: row[columns.keptFrom])
        }
    }

    // MARK: Removal

    private struct TrimInput: NamedFields {
        let key: ConversationInput
        let user: Parameter<String>
        let kind: Parameter<RunKind>
        let before: Parameter<Int64>
    }

    private struct TrimColumns: NamedFields {
        let nextBefore: Column<Int64?>
        let removed: Column<Int64>
    }

    private static let trim = PreparedStatement<TrimInput, TrimColumns>(
        "trim_runs", PackageResources.trim_runs_sql, .receipt)

    /// - Returns: before which position the next piece begins, if there is one, and how many runs were removed.
    static func trim(
        _ key: Key, _ kind: RunKind, before: Int64, on connection: Connection
    ) async throws(DatabaseError) -> (next: Int64?, removed: Int) {
        let columns = trim.columns
        let row = try await connection.query(trim) { parameters, input in
            parameters.set(input.key, to: key.conversation)
            parameters.set(input.user, to: key.user)
            parameters.set(input.kind, to: kind)
            parameters.set(input.before, to: before)
        }[0]
        return (row[columns.nextBefore], Int(row[columns.removed]))
    }
}
