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
        if statement.file != nil, server.columns != statement.columnFields {
            mismatches.append(
                "\(statement.name) returns \(list(server.columns)), and the file declares \(list(statement.columnFields))"
            )
        }
    }
    return mismatches
}

/// What a role may not do of all that these statements do, a sentence for each. It leaves the connection with that role.
///
/// Whoever explains a statement needs the rights of whoever executes it. The plan is the generic one: of a statement whose
/// parameters are all NULL, the planner would leave out most.
package func refusals(
    of statements: [Statement], to role: String, on connection: BlockingConnection
) throws -> [String] {
    try connection.execute("SET ROLE \(role); SET plan_cache_mode = force_generic_plan")
    var refusals: [String] = []
    for (number, statement) in statements.enumerated() {
        do throws(DatabaseError) {
            try connection.execute(explanation(of: statement, as: "explained_\(number)"))
        } catch {
            guard error.sqlState == .insufficientPrivilege else { throw error }
            refusals.append("\(statement.name): \(error.message)")
        }
    }
    return refusals
}

private func explanation(of statement: Statement, as name: String) -> String {
    func list(_ values: [String]) -> String { values.isEmpty ? "" : "(\(values.joined(separator: ", ")))" }
    let types = statement.parameters.map(\.description), values = types.map { _ in "NULL" }
    return "PREPARE \(name) \(list(types)) AS \(statement.sql); EXPLAIN EXECUTE \(name) \(list(values))"
}

private func list(_ fields: [Statement.Field]) -> String {
    fields.isEmpty ? "nothing" : fields.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
}
