/// A statement that a connection prepares once, each time it comes up, under a name of its own.
public struct Statement: Sendable {
    public let name: String
    public let parameters: [PostgresType]
    public let sql: String

    public init(_ name: String, parameters: [PostgresType] = [], _ sql: String) {
        self.name = name
        self.parameters = parameters
        self.sql = sql
    }
}
