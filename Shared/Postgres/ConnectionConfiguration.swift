/// How a connection reaches its server and what it sets up there each time it comes up.
public struct ConnectionConfiguration: Sendable {
    /// A libpq URL or conninfo string. May hold a password: never logged.
    public var url: String
    /// Shown in `pg_stat_activity`.
    public var applicationName: String
    /// Run-time parameters of the session, on top of `defaultSettings`.
    public var settings: [(name: String, value: String)]
    public var statements: [Statement]
    /// In a simulation, what plays the server.
    public var simulatedServer: (any SimulatedServer)?

    public init(
        url: String, applicationName: String, settings: [(name: String, value: String)] = [],
        statements: [Statement] = [], simulatedServer: (any SimulatedServer)? = nil
    ) {
        self.url = url
        self.applicationName = applicationName
        self.settings = settings
        self.statements = statements
        self.simulatedServer = simulatedServer
    }

    /// The server must notice a dead client soon, because until then it keeps the client's advisory locks, and with
    /// them its slots: by default it would take two hours. It must not compile statements: where scans are discouraged
    /// their cost is beyond all bounds, and then each new session spends seconds on compiling what takes a millisecond.
    static let defaultSettings: [(name: String, value: String)] = [
        ("jit", "off"),
        ("client_connection_check_interval", "1s"),
        ("tcp_keepalives_idle", "2"), ("tcp_keepalives_interval", "1"), ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "5s"),
    ]

    /// How many hosts the URL names: the attempts to connect go through them.
    var hostCount: Int { DatabaseURL(url)?.hostCount ?? 1 }

    /// How long a server may take to accept a connection. libpq's own `connect_timeout` does nothing for a connection
    /// that does not block, so it is honoured here.
    var connectTimeout: Duration { DatabaseURL(url)?.connectTimeout ?? .seconds(3) }

    /// Keywords of libpq (34.1.2) for one attempt to connect. What stands first can be overridden by the URL. Blocks while
    /// a name is resolved.
    func keywords(forAttempt number: Int) -> [(String, String)] {
        let parameters = DatabaseURL(url)?.keywords(forAttempt: number) ?? [("dbname", url)]
        return Self.keywords(applicationName: applicationName) + parameters
    }

    /// Only a server that takes writes is of use. After a failover the one that was lost may be back as a standby.
    static func keywords(applicationName: String) -> [(String, String)] {
        [
            ("application_name", applicationName), ("target_session_attrs", "read-write"),
            ("keepalives_idle", "5"), ("keepalives_interval", "1"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "5000"), ("client_encoding", "UTF8"),
        ]
    }
}
