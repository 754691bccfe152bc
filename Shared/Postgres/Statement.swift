/// A statement that a connection prepares under a name each time it comes up.
public struct Statement: Sendable {
    /// A parameter or a column.
    public struct Field: Equatable, Sendable {
        public let name: String
        public let type: PostgresType
    }

    public let name: String
    public internal(set) var parameters: [PostgresType]
    public internal(set) var sql: String
    /// The name of the file that it comes from, without `.sql`.
    public let file: String?
    /// The fields that the file declares; empty without a file.
    public let parameterFields: [Field]
    public let columnFields: [Field]

    public init(_ name: String, parameters: [PostgresType] = [], _ sql: String) {
        self.name = name
        self.parameters = parameters
        self.sql = sql
        file = nil
        parameterFields = []
        columnFields = []
    }

    /// - Parameter name: the name under which it is prepared; nil: that of the file.
    init(_ file: SQLFile, _ names: SQLNames, name: String? = nil) throws(SQLFileError) {
        self.name = name ?? file.name
        self.file = file.name
        sql = try file.sql(names)
        parameterFields = try Self.fields(file.parameters, in: file)
        columnFields = try Self.fields(file.columns(names), in: file)
        parameters = parameterFields.map(\.type)
    }

    static func fields(_ fields: [SQLFile.Field], in file: SQLFile) throws(SQLFileError) -> [Field] {
        var typed: [Field] = []
        for field in fields {
            guard let type = PostgresType(named: field.type) else {
                throw SQLFileError(file.name, "\(field.name) has a type that is not supported: \(field.type)")
            }
            typed.append(Field(name: field.name, type: type))
        }
        return typed
    }
}
