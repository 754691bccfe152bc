/// The settings that every service reads from its environment.
struct ServiceSettings: Sendable {
    let name: String
    let instance: Int
    let logLevel: Log.Level
    let drainLimit: Duration

    init(name: String, environment: inout Environment) throws(ConfigurationError) {
        self.name = name
        instance = try environment.integer("PARLEY_INSTANCE", default: 0, in: 0...999)
        logLevel = try environment.decode("PARLEY_LOG_LEVEL", default: .info, must: "be debug, info, warning or error")
        {
            Log.Level(name: $0)
        }
        drainLimit = try environment.duration("PARLEY_DRAIN_LIMIT", default: .seconds(5))
    }
}
