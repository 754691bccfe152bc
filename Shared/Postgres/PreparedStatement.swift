/// A statement in a file, with the Swift types of its parameters and columns.
///
///     enum TellRead {
///         struct Input: NamedFields {
///             let users: Parameter<[UserID]>
///             let readSeqs: Parameter<[Int64]>
///         }
///
///         struct Columns: NamedFields {
///             let ordinal: Column<Int64>
///             let useq: Column<Int64>
///         }
///
///         static let statement = PreparedStatement<Input, Columns>("tell_read", PackageResources.tell_read_sql, .store)
///     }
///
/// It is executed and read through these, without any names at run time:
///
///     batch.execute(TellRead.statement) { parameters, input in
///         parameters.set(input.users, to: entries.lazy.map(\.user))
///         parameters.set(input.readSeqs, to: entries.lazy.map(\.readSeq))
///     }
///     let columns = TellRead.statement.columns
///     for row in rows { told(row[columns.ordinal], row[columns.useq]) }
///
/// A file that is malformed, or does not match the Swift types, stops the process when the statement is first used.
/// Services therefore list their statements before they connect.
public struct PreparedStatement<Input: NamedFields, Columns: NamedFields>: Sendable {
    /// The statement for the configuration of connections.
    public let untyped: Statement
    public let input: Input
    public let columns: Columns

    /// - Parameters:
    ///   - name: the name under which it is prepared.
    ///   - fileName: the name of the file, if that is another one.
    ///   - file: the bytes of the file; see `SQLFile`.
    public init(_ name: String, file fileName: String? = nil, _ file: [UInt8], _ names: SQLNames) {
        do {
            let file = try SQLFile(fileName ?? name, file)
            untyped = try Statement(file, names, name: name)
            input = try FieldDecoder.decode(Input.self, untyped.parameterFields)
            columns = try FieldDecoder.decode(Columns.self, untyped.columnFields)
        } catch let error as FieldError {
            preconditionFailure("\(name).sql: \(error)")
        } catch { preconditionFailure("\(error)") }
    }
}

extension SQLNames {
    /// The columns that a fragment declares, for the statements that return these and no others.
    public func columns<Columns: NamedFields>(_ type: Columns.Type, of fragment: String) -> Columns {
        guard case .fragment(let file)? = meanings[fragment] else { preconditionFailure("there is no {\(fragment)}") }
        do {
            return try FieldDecoder.decode(type, Statement.fields(file.columns(self), in: file))
        } catch { preconditionFailure("\(fragment).sql: \(error)") }
    }
}

extension Batch {
    /// Executes a statement of the connection's configuration with the parameters that `build` sets. It must set all of
    /// them, in any order.
    public mutating func execute<Input, Columns>(
        _ prepared: PreparedStatement<Input, Columns>, _ build: (inout Parameters, Input) -> Void
    ) {
        execute(prepared.untyped) { parameters in
            parameters.reserve(prepared.untyped.parameters.count)
            build(&parameters, prepared.input)
        }
    }

    /// The same with what the statement borrows of users: see `UserRows.parameters`.
    public mutating func execute<Input, Columns>(
        _ prepared: PreparedStatement<Input, Columns>, borrowing borrowed: [[UInt8]],
        _ build: (inout Parameters, Input) -> Void
    ) {
        execute(prepared.untyped, borrowing: borrowed) { parameters in
            parameters.reserve(prepared.untyped.parameters.count)
            build(&parameters, prepared.input)
        }
    }

    public mutating func execute<Columns>(_ prepared: PreparedStatement<NoFields, Columns>) {
        execute(prepared.untyped)
    }

    /// Parses and executes a statement that runs too seldom to be prepared, or where connections have no list of
    /// statements.
    ///
    /// - Parameter shard: whose tables it is for; nil: those that it names, or of the connection's shard.
    public mutating func execute<Input, Columns>(
        unprepared statement: PreparedStatement<Input, Columns>, for shard: ShardNames? = nil,
        _ build: (inout Parameters, Input) -> Void
    ) {
        execute(sql: shard?.applied(to: statement.untyped.sql) ?? statement.untyped.sql) { parameters in
            parameters.reserve(statement.untyped.parameters.count)
            build(&parameters, statement.input)
        }
    }

    public mutating func execute<Columns>(unprepared statement: PreparedStatement<NoFields, Columns>) {
        execute(sql: statement.untyped.sql)
    }
}
