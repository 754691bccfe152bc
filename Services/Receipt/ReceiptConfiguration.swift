import Postgres
import ServiceKit
import Slots

/// The configuration that a receipt service reads from its environment.
struct ReceiptConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration
    /// How long signals of one user in one conversation are gathered after the first one.
    let window: Duration
    /// Of the service of a shard on Citus; nil: the tables are reached by the names that the statements have.
    var shard: ShardConnections?
    /// What begins sessions in the place of libpq, in a simulation.
    var sessionSource: SessionSource?

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8083")
        window = .milliseconds(try environment.integer("PARLEY_RECEIPT_WINDOW_MS", default: 100, in: 0...10_000))
        bus = try BusConfiguration(.receipt, environment: &environment)
    }

    /// Forces index lookups, for which the statements of a batch are written, whatever array size the planner expects.
    /// There is one plan for all sizes. On Citus the settings of users come with the batch, and who has turned read receipts
    /// off meanwhile is not to wait long for what was under way: it waits for locks no longer than this.
    var writer: ConnectionConfiguration {
        connection(
            "parley-receipt-writer",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"), ("synchronous_commit", "on"),
            ] + (shard == nil ? [] : [("lock_timeout", "1s")]),
            statements: Self.writing)
    }

    /// For background work, which must not delay anything else.
    var background: ConnectionConfiguration {
        connection(
            "parley-receipt-background",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("statement_timeout", "30s"),
            ],
            statements: Self.inBackground)
    }

    var queries: ConnectionConfiguration {
        connection(
            "parley-receipt-queries",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
                ("default_transaction_read_only", "on"), ("statement_timeout", "5s"),
            ] + (shard == nil ? [] : [("lock_timeout", "50ms")]),
            statements: shard == nil ? Self.reading : Self.readingOfShard)
    }

    /// On Citus, of the sessions that hold the locks of shards.
    var owner: ConnectionConfiguration {
        // Who waits for the last batches of a shard's former owner keeps its heartbeat, and tries again.
        connection("parley-receipt-owner", settings: [("lock_timeout", "1s")], statements: [])
    }

    private static let writing =
        HorizonStatements.all + ReceiptImportStatements.all + ReceiptErasure.statements
        + [LastSeenStatements.seen.untyped, LastSeenStatements.forget.untyped]
    private static let inBackground = CompletionStatements.all + RunTrimStatements.all
    private static let reading =
        StatusStatements.all + UntoldStatements.all + UntoldStatements.notes.all + [LastSeenStatements.ofPeers.untyped]
    /// What fans out is asked in parts.
    static let readingOfShard =
        StatusStatements.all + UntoldStatements.all + UntoldStatements.notes.all + UntoldStatements.ofShards
        + LastSeenStatements.ofShards

    /// Of all connections.
    static let statements =
        writing + inBackground + reading + UntoldStatements.ofShards + LastSeenStatements.ofShards

    private func connection(
        _ name: String, settings: [(name: String, value: String)], statements: [Statement]
    ) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(
            url: databaseURL, applicationName: name, settings: settings, statements: statements,
            sessionSource: sessionSource)
        configuration.reach(shard)
        if shard != nil { configuration.users = .parameters }
        return configuration
    }
}
