/// The settings for reaching a server, and for the session that is set up there each time the connection comes up.
public struct ConnectionConfiguration: Sendable {
    /// A libpq URL or conninfo string. May hold a password: never logged.
    public var url: String
    /// Shown in `pg_stat_activity`.
    public var applicationName: String
    /// Run-time parameters of the session, on top of `defaultSettings`.
    public var settings: [(name: String, value: String)]
    public var statements: [Statement]
    /// Makes what the session has of its own, before the statements are prepared.
    public var preparation: String?
    /// The shard whose tables the statements are for. Nil, as everywhere but on Citus: those that they name.
    public var shard: ShardNames?
    /// Where statements of a shard find rows of users that they have to borrow.
    public var users = UserRows.ofShard
    /// The node of a distributed database to connect to, asked at each attempt. Nil: the hosts of the URL.
    public var node: (@Sendable () -> NodeAddress)?
    /// What begins a session in the place of libpq. Nil, as in every service: libpq does.
    public var sessionSource: SessionSource?

    public init(
        url: String, applicationName: String, settings: [(name: String, value: String)] = [],
        statements: [Statement] = [], sessionSource: SessionSource? = nil
    ) {
        self.url = url
        self.applicationName = applicationName
        self.settings = settings
        self.statements = statements
        self.sessionSource = sessionSource
    }

    /// The server must notice a dead client soon, because it keeps the client's advisory locks, and with them its
    /// slots, until then. By default that takes two hours. It must not compile statements: discouraged scans have
    /// extreme cost estimates, so each new session would spend seconds on compiling what takes a millisecond.
    static let defaultSettings: [(name: String, value: String)] = [
        ("jit", "off"),
        ("client_connection_check_interval", "1s"),
        ("tcp_keepalives_idle", "2"), ("tcp_keepalives_interval", "1"), ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "5s"),
    ]

    /// The number of hosts in the URL. Attempts to connect go through them.
    var hostCount: Int { DatabaseURL(url)?.hostCount ?? 1 }

    /// The time in which a server must accept a connection. libpq's own `connect_timeout` has no effect on non-blocking
    /// connections, so it is honoured here.
    var connectTimeout: Duration { DatabaseURL(url)?.connectTimeout ?? .seconds(3) }

    /// Keywords of libpq (34.1.2) for one attempt to connect. The URL overrides the earlier ones. Blocks while a name
    /// is resolved.
    func keywords(forAttempt number: Int) -> [(String, String)] {
        let parameters =
            node?().keywords(url) ?? DatabaseURL(url)?.keywords(forAttempt: number) ?? [("dbname", url)]
        return Self.keywords(applicationName: applicationName) + parameters
    }

    /// Accepts only a server that takes writes. After a failover the lost one may be back as a standby.
    static func keywords(applicationName: String) -> [(String, String)] {
        [
            ("application_name", applicationName), ("target_session_attrs", "read-write"),
            ("keepalives_idle", "5"), ("keepalives_interval", "1"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "5000"), ("client_encoding", "UTF8"),
        ]
    }
}
