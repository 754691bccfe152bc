import Postgres
import ServiceKit

/// The configuration that a receipt service reads from its environment.
struct ReceiptConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration
    /// How long signals of one user in one conversation are gathered after the first one.
    let window: Duration
    /// What begins sessions in the place of libpq, in a simulation.
    var sessionSource: SessionSource?

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8083")
        window = .milliseconds(try environment.integer("PARLEY_RECEIPT_WINDOW_MS", default: 100, in: 0...10_000))
        bus = try BusConfiguration(.receipt, environment: &environment)
    }

    /// Forces index lookups, for which the statements of a batch are written, whatever array size the planner expects.
    /// There is one plan for all sizes.
    var writer: ConnectionConfiguration {
        connection(
            "parley-receipt-writer",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"), ("synchronous_commit", "on"),
            ],
            statements: Self.writing)
    }

    /// For background work, which must not delay anything else.
    var completions: ConnectionConfiguration {
        connection(
            "parley-receipt-completions",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("statement_timeout", "30s"),
            ],
            statements: CompletionStatements.all)
    }

    var queries: ConnectionConfiguration {
        connection(
            "parley-receipt-queries",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
                ("default_transaction_read_only", "on"), ("statement_timeout", "5s"),
            ],
            statements: Self.reading)
    }

    private static let writing =
        HorizonStatements.all + ReceiptImportStatements.all + ReceiptErasure.statements
        + [LastSeenStatements.seen.untyped]
    private static let reading =
        StatusStatements.all + UntoldStatements.all + UntoldStatements.notes.all + [LastSeenStatements.ofPeers.untyped]

    /// Of all connections.
    static let statements = writing + CompletionStatements.all + reading

    private func connection(
        _ name: String, settings: [(name: String, value: String)], statements: [Statement]
    ) -> ConnectionConfiguration {
        ConnectionConfiguration(
            url: databaseURL, applicationName: name, settings: settings, statements: statements,
            sessionSource: sessionSource)
    }
}
