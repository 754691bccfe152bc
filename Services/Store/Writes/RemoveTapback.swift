import Postgres

/// A user takes a tapback back.
enum RemoveTapback {
    static let statement = PreparedStatement<WriteStatement.Input, WriteStatement.Columns>(
        "remove_tapback", PackageResources.remove_tapback_sql, .store)
}
