import Postgres
import Slots

/// The schema `receipt`: the tables that only this service writes.
///
/// The names in `PackageResources` begin with an underscore because an identifier cannot begin with a digit.
enum Schema {
    static let name = "receipt"

    /// The first key of the advisory locks by which receipt services own slots. The next number is taken with it.
    static let slotLocks: Int32 = 7201

    static var migrator: Migrator {
        Migrator(
            schema: name,
            [
                Migration(1, "ownership", sql: PackageResources._0001_ownership_sql),
                Migration(2, "horizons", sql: PackageResources._0002_horizons_sql),
                Migration(3, "shown reads", sql: PackageResources._0003_shown_reads_sql),
                Migration(4, "completions", sql: PackageResources._0004_completions_sql),
                Migration(5, "last seen", sql: PackageResources._0005_last_seen_sql),
                Migration(6, "untold", sql: PackageResources._0006_untold_sql),
            ], publishing: Publications.receipt)
    }
}
