import Models
import Postgres
import Slots

/// The start of a round of `sync`: the history's identity, the position of the user's private stream, and the lowest
/// transaction that is still running.
enum SyncStatement {
    struct Columns: NamedFields {
        let logId: Column<UUIDBytes>
        let lastUseq: Column<Int64>
        let transaction: Column<Int64>
    }

    static let position = PreparedStatement<UserInput, Columns>(
        "sync_position", PackageResources.sync_position_sql, .store)
}
