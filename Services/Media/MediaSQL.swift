import Postgres

/// The names in braces in the files of `SQL`.
extension SQLNames {
    static let media = SQLNames(
        // Numbers stored in tables.
        .cases(of: ObjectState.self),
        // Limits and times.
        .number("Caretaker.rowsPerStep", Caretaker.rowsPerStep),
        .number("Caretaker.backlogRows", Caretaker.backlogRows),
        .number("KeptObject.rowsAtOnce", KeptObject.rowsAtOnce),
        .interval("inspection_patience", Caretaker.patience),
        .interval("retry_delay", Caretaker.retryDelay),
        .interval("unsent_message", Caretaker.unsentMessage),
        // The time of a transaction, in the resolution that clients see. Unlike `clock_timestamp()`, an index serves it.
        .sql("now", "date_trunc('milliseconds', now())"),
        .fragment("object_columns", PackageResources.object_columns_sql))
}
