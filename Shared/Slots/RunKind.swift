import Postgres

/// What a run of receipts passed: the column `kind` of `receipt.receipt_runs`. The dates in `receipt.completions` are of
/// the first two kinds.
public enum RunKind: Int16, CaseIterable, PostgresEnum, Sendable {
    case delivered = 1
    case read = 2
    /// Delivered and read at the same time. The most frequent advance takes one row.
    case both = 3
}
