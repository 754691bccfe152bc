import Postgres

/// The schema `media`: the tables that only this service writes.
///
/// The names in `PackageResources` begin with an underscore because an identifier cannot begin with a digit.
enum Schema {
    static let name = "media"

    /// The first key of the advisory locks by which media services own slots. The next number is taken with it.
    static let slotLocks: Int32 = 7301

    static var migrator: Migrator {
        Migrator(
            schema: name,
            [
                Migration(1, "ownership", sql: PackageResources._0001_ownership_sql),
                Migration(2, "objects", sql: PackageResources._0002_objects_sql),
            ])
    }
}
