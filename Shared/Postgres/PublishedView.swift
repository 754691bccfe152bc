/// Columns of one service's table that the other services may read: a view named `published_` and the table.
///
/// A service reads the tables of its own schema, and only these views of another's. The database grants no more
/// (`deploy/database`). So a table can change as long as its view stays, and one list shows everything that a service
/// reads from others. As in any contract, columns are only ever added, at the end.
public struct PublishedView: Sendable {
    let schema: String
    let table: String
    let columns: [String]
    /// What the view selects.
    let query: String

    /// Takes identifiers and queries from the code, never from a user: they are not quoted.
    ///
    /// - Parameter query: for a view of several tables, selects these columns; a change of it is another view.
    public init(_ schema: String, _ table: String, _ columns: [String], of query: String? = nil) {
        self.schema = schema
        self.table = table
        self.columns = columns
        self.query = query ?? "SELECT \(columns.joined(separator: ", ")) FROM \(schema).\(table)"
    }

    public var name: String { "\(schema).published_\(table)" }

    /// Creates the view, unless it exists with these columns.
    func publish(in database: BlockingConnection) throws(DatabaseError) {
        let present = try database.query(
            """
            SELECT array_to_string(array_agg(attname ORDER BY attnum), ' ') FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0
            """
        ) { $0.add(name) }
        // Replacing a view waits for its readers.
        guard present[0][0] as String? != columns.joined(separator: " ") else { return }
        try database.execute("CREATE OR REPLACE VIEW \(name) AS \(query)")
    }

    /// Throws if the service that the URL names may not read these views.
    ///
    /// Called before a service starts. Otherwise its statements would fail one by one.
    public static func require(_ views: [PublishedView], ofDatabaseAt url: String) throws(MigrationError) {
        let database: BlockingConnection
        do throws(DatabaseError) {
            database = try BlockingConnection(url: url, applicationName: "parley-check")
        } catch {
            throw .database(error)
        }
        for view in views { try view.require(in: database) }
    }

    private func require(in database: BlockingConnection) throws(MigrationError) {
        do throws(DatabaseError) {
            try database.execute("SELECT \(columns.joined(separator: ", ")) FROM \(name) LIMIT 0")
        } catch  where Self.missing.contains(error.sqlState) {
            throw .notPublished(view: name, schema: schema, reason: error.debugDescription)
        } catch {
            throw .database(error)
        }
    }

    private static let missing: Set<SQLState> = [
        .undefinedTable, .undefinedColumn, .invalidSchemaName, .insufficientPrivilege,
    ]
}
