/// A statement that a connection prepares once, each time it comes up, under a name of its own.
package struct Statement: Sendable {
    package let name: String
    package let parameters: [PostgresType]
    package let sql: String

    package init(_ name: String, parameters: [PostgresType] = [], _ sql: String) {
        self.name = name
        self.parameters = parameters
        self.sql = sql
    }
}
