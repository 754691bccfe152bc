import Postgres

/// What the files of statements declare otherwise than the server sees it, a sentence for each. Statements that come from
/// no file are only prepared.
package func mismatches(of statements: [Statement], on connection: BlockingConnection) throws -> [String] {
    var mismatches: [String] = []
    for statement in statements {
        let server = try connection.describe(statement)
        if server.parameters != statement.parameters {
            mismatches.append("\(statement.name) takes other parameters than it was prepared with")
        }
        if statement.isFromFile, server.columns != statement.columnFields {
            mismatches.append(
                "\(statement.name) returns \(list(server.columns)), and the file declares \(list(statement.columnFields))"
            )
        }
    }
    return mismatches
}

private func list(_ fields: [Statement.Field]) -> String {
    fields.isEmpty ? "nothing" : fields.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
}
