import Postgres
import ServiceKit

/// What a store reads from its environment.
struct StoreConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8082")
        bus = try BusConfiguration(.store, environment: &environment)
    }

    /// The statements of a batch are written for index lookups, whatever the planner believes about the size of an
    /// array: one plan for all, and nothing but lookups to choose from.
    var writer: ConnectionConfiguration {
        ConnectionConfiguration(
            url: databaseURL, applicationName: "parley-store-writer",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"), ("synchronous_commit", "on"),
            ],
            statements: Writer.statements)
    }

    var queries: ConnectionConfiguration {
        ConnectionConfiguration(
            url: databaseURL, applicationName: "parley-store-queries",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
                ("default_transaction_read_only", "on"),
                ("statement_timeout", "5s"),
            ],
            statements: Queries.statements)
    }
}
