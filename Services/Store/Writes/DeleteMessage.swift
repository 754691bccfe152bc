import Postgres

/// A message goes for everyone.
enum DeleteMessage {
    /// Deletions of one user in a conversation that are remembered until their messages come.
    static let waitingLimit = 100

    static let statement = PreparedStatement<WriteStatement.Input, WriteStatement.Columns>(
        "delete_message", PackageResources.delete_message_sql, .store)
}
