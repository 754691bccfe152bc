import ServiceKit

/// What a store reads from its environment.
struct StoreConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8082")
        bus = try BusConfiguration(.store, listeningTo: [.ingest, .receipt, .fanout], environment: &environment)
    }
}
