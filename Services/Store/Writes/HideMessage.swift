import Postgres

/// A message goes for one user alone.
enum HideMessage {
    static let statement = PreparedStatement<WriteStatement.Input, WriteStatement.Columns>(
        "hide_message", PackageResources.hide_message_sql, .store)
}
