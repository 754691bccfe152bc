import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Postgres

/// Opens a connection to `database` and waits until it is up.
@Reactor func connect(
    _ database: TestDatabase, name: String = "parley-test", settings: [(name: String, value: String)] = [],
    statements: [Statement] = []
) async -> Connection {
    let connection = database.open(name: name, settings: settings, statements: statements)
    await waitUntil { connection.isUp }
    return connection
}

/// Submits a batch and waits for its outcome.
@Reactor func outcome(
    on connection: Connection, _ build: @Reactor (inout Batch) -> Void
) async -> BatchOutcome {
    await withUnsafeContinuation { continuation in
        connection.submit(build) { continuation.resume(returning: $0) }
    }
}

/// Submits `sql` on its own and keeps the outcome.
@Reactor final class Submission {
    private(set) var outcome: BatchOutcome?

    init(_ sql: String, on connection: Connection) {
        connection.submit({ $0.execute(sql: sql) }, completion: { [unowned self] in outcome = $0 })
    }

    var summary: String {
        switch outcome {
        case nil: "none"
        case .committed: "committed"
        case .failed(let error, let statement): "failed \(error.sqlState.rawValue) \(statement.map(String.init) ?? "-")"
        case .unknown(let error): "unknown \(error.sqlState.rawValue)"
        }
    }
}
