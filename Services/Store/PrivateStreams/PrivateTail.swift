import Models
import Postgres
import Slots

/// The part of a user's private stream that is kept: the latest changes, without a gap. A client further behind reloads
/// the affected data, which costs less than the stream.
enum PrivateTail {
    /// The number of changes that are replayed. Slightly more may be stored.
    static let kept: Int64 = 1_000
    /// The number of changes to a stream between two trims.
    static let step: Int64 = 128
    /// The number of rows that one statement removes.
    static let rowsAtOnce: Int64 = 500

    struct Input: NamedFields {
        let user: UserInput
        let through: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct Columns: NamedFields { let count: Column<Int64> }

    static let trim = PreparedStatement<Input, Columns>(
        "trim_private", PackageResources.trim_private_sql, .store)

    /// Removes the oldest rows up to a position, at most `rowsAtOnce` of them.
    static func addTrim(of user: UserID, through useq: Int64, to batch: inout Batch) {
        batch.execute(trim) { parameters, input in
            parameters.set(input.user, to: user)
            parameters.set(input.through, to: useq)
            parameters.set(input.limit, to: rowsAtOnce)
        }
    }

    /// The number of rows that a trim has removed.
    static func trimmedCount(_ rows: Rows) -> Int64 { rows.first.map { $0[trim.columns.count] } ?? 0 }
}
