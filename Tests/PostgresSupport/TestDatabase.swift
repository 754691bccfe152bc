import Postgres
import Reactor
import Synchronization

/// A new database of the shared cluster, dropped with the last reference: make it a property of the suite.
package final class TestDatabase: Sendable {
    package let name: String
    package let url: String
    private let cluster: TestCluster
    private let connections = Mutex<[Connection]>([])
    /// What `query` looks through. A server process for each look would cost more than most of the looks.
    private let observer = Mutex<Observer?>(nil)

    /// An empty one.
    package init(on cluster: TestCluster = .shared) throws {
        self.cluster = cluster
        name = cluster.nextDatabaseName()
        url = cluster.url(database: name)
        try Self.administer(cluster, "CREATE DATABASE \(name)")
    }

    /// One with the tables of these schemas: a copy, since applying the migrations takes much longer. The first one of
    /// each layout makes what is copied.
    package init(migratedBy migrators: [Migrator], layout: Layout = .plain) throws {
        cluster = .shared
        name = cluster.nextDatabaseName()
        url = cluster.url(database: name)
        let template = try cluster.template(of: migrators, layout)
        try Self.administer(cluster, "CREATE DATABASE \(name) TEMPLATE \(template)")
    }

    deinit {
        observer.withLock { $0 = nil }
        let opened = connections.withLock { $0 }
        let cluster = cluster, name = name
        Reactor.spawn {
            for connection in opened { connection.close() }
            // Off the reactor: DROP waits for every backend of the cluster, and one of them may be waiting for a test on
            // the reactor to read its results.
            Task.detached { try? Self.administer(cluster, "DROP DATABASE \(name) WITH (FORCE)") }
        }
    }

    /// A connection on the reactor, opened here and closed before the database is dropped.
    @Reactor package func open(
        name: String = "parley-test", settings: [(name: String, value: String)] = [], statements: [Statement] = []
    ) -> Connection {
        let connection = Connection(
            ConnectionConfiguration(url: url, applicationName: name, settings: settings, statements: statements))
        connections.withLock { $0.append(connection) }
        connection.open()
        return connection
    }

    /// A plain connection of its own, to look at the database from outside.
    package func connect() throws -> BlockingConnection {
        try BlockingConnection(url: url, applicationName: "test")
    }

    /// Runs statements in a session of their own.
    package func execute(_ sql: String) throws { try connect().execute(sql) }

    /// The result of one statement, which leaves nothing behind in its session: others follow in it.
    package func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) throws -> Rows {
        try observer.withLock { observer in
            let connection = try observer?.connection ?? connect()
            // Opened again after an error: its session may have been ended.
            observer = nil
            let rows = try connection.query(sql, build)
            observer = Observer(connection: connection)
            return rows
        }
    }

    private struct Observer: @unchecked Sendable {
        // @unchecked: only used under the lock of `observer`.
        let connection: BlockingConnection
    }

    /// Ends every session whose application name is `applicationName`, as an operator or a crash would.
    package func endSessions(of applicationName: String) throws {
        _ = try query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = $2"
        ) { parameters in
            parameters.add(applicationName)
            parameters.add(name)
        }
    }

    static func administer(_ cluster: TestCluster, _ sql: String) throws {
        try BlockingConnection(url: cluster.url(), applicationName: "test").execute(sql)
    }
}
