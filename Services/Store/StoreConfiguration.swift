import Postgres
import ServiceKit

/// What a store reads from its environment.
struct StoreConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration
    /// On which queries are answered.
    let queryConnections: Int
    let conversationLimit: ConversationLimit
    /// In a simulation, what plays PostgreSQL.
    var simulatedServer: (any SimulatedServer)?

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8082")
        bus = try BusConfiguration(.store, environment: &environment)
        queryConnections = try environment.integer("PARLEY_QUERY_CONNECTIONS", default: 2, in: 1...16)
        conversationLimit = ConversationLimit(ofUser: Int32(try environment.conversationsPerUser()))
    }

    /// The statements of a batch are written for index lookups, whatever the planner believes about the size of an
    /// array: one plan for all, and nothing but lookups to choose from.
    var writer: ConnectionConfiguration {
        connection(
            "parley-store-writer",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"), ("synchronous_commit", "on"),
            ],
            statements: Writer.statements)
    }

    /// As the writer. What it writes can be made again, so its commits wait for no disk.
    var indexer: ConnectionConfiguration {
        var configuration = writer
        configuration.applicationName = "parley-store-indexer"
        configuration.settings.removeAll { $0.name == "synchronous_commit" }
        configuration.settings.append(("synchronous_commit", "off"))
        configuration.statements = SearchIndex.statements
        return configuration
    }

    /// For what reads many rows. No search and no digest may hold the others up for longer than this.
    var search: ConnectionConfiguration {
        var configuration = queries
        configuration.applicationName = "parley-store-search"
        configuration.settings.removeAll { $0.name == "statement_timeout" }
        configuration.settings.append(("statement_timeout", "1s"))
        configuration.statements = Search.statements + [DigestStatement.statement]
        return configuration
    }

    /// What a batch reads is one state: its transaction has one snapshot.
    var queries: ConnectionConfiguration {
        connection(
            "parley-store-queries",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
                ("default_transaction_read_only", "on"), ("default_transaction_isolation", "repeatable read"),
                ("max_parallel_workers_per_gather", "0"), ("statement_timeout", "5s"),
            ],
            statements: Queries.statements)
    }

    private func connection(
        _ name: String, settings: [(name: String, value: String)], statements: [Statement]
    ) -> ConnectionConfiguration {
        ConnectionConfiguration(
            url: databaseURL, applicationName: name, settings: settings, statements: statements,
            simulatedServer: simulatedServer)
    }
}
