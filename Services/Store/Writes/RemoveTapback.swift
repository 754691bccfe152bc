import Models
import Postgres

/// A user takes a tapback back.
struct RemoveTapback: WriteKind {
    static let statement = PreparedWrite<NoFields>("remove_tapback", PackageResources.remove_tapback_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .message(.tapbackRemoved) }
}
