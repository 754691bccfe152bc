import Models
import Postgres
import ServiceKit
import Slots

/// The settings that a store reads from its environment.
struct StoreConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration
    /// The number of connections that answer queries.
    let queryConnections: Int
    let conversationLimit: ConversationLimit
    /// Whether what carries attachments may be replied to.
    let answersAttachments: Bool
    /// Of the service of a shard on Citus; nil: the tables are reached by the names that the statements have.
    var shard: ShardConnections?
    /// On Citus, how the service reaches the rows of users in other shards.
    var borrowing: Borrowing?
    /// How many days messages stay. Nil: without an end.
    let retention: Int32?
    /// What begins sessions in the place of libpq, in a simulation.
    var sessionSource: SessionSource?

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "127.0.0.1:8082")
        bus = try BusConfiguration(.store, environment: &environment)
        queryConnections = try environment.integer("PARLEY_QUERY_CONNECTIONS", default: 2, in: 1...16)
        answersAttachments = try environment.replyToAttachments()
        retention = try environment.retention().map { Int32($0) }
        conversationLimit = ConversationLimit(
            ofUser: Int32(try environment.conversationsPerUser()),
            members: Int32(try environment.membersPerConversation()),
            asksStrangers: try environment.messageRequests() == .strangers)
    }

    /// Batch statements are written for index lookups, whatever the planner estimates for the size of an array. They
    /// use one generic plan that consists of lookups only.
    var writer: ConnectionConfiguration {
        connection(
            "parley-store-writer",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"), ("synchronous_commit", "on"),
            ],
            statements: Writer.statements)
    }

    /// On Citus, of the sessions that borrow the rows of users.
    var borrower: ConnectionConfiguration {
        var configuration = writer
        configuration.applicationName = "parley-store-borrower"
        configuration.shard = (shard?.names).map(Borrowing.names)
        // Most batches borrow a few rows; a process keeps what its temporary tables once took.
        configuration.settings.append(("temp_buffers", "1MB"))
        configuration.preparation = borrowing?.preparation
        configuration.statements += Borrowing.statements
        return configuration
    }

    /// Like the writer's, but commits do not wait for the disk: the index can be rebuilt.
    var indexer: ConnectionConfiguration {
        var configuration = writer
        configuration.applicationName = "parley-store-indexer"
        configuration.settings.removeAll { $0.name == "synchronous_commit" }
        configuration.settings.append(("synchronous_commit", "off"))
        configuration.statements = SearchIndex.statements + guards
        return configuration
    }

    /// For searches and digests, which read many rows. This timeout limits how long one can delay the others.
    var search: ConnectionConfiguration {
        var configuration = queries
        configuration.applicationName = "parley-store-search"
        configuration.settings.removeAll { $0.name == "statement_timeout" }
        configuration.settings.append(("statement_timeout", "1s"))
        configuration.statements = Search.statements + [DigestStatement.statement.untyped] + guards
        return configuration
    }

    /// A batch reads one consistent state: its transaction has one snapshot.
    var queries: ConnectionConfiguration {
        connection(
            "parley-store-queries",
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
                ("default_transaction_read_only", "on"), ("default_transaction_isolation", "repeatable read"),
                ("max_parallel_workers_per_gather", "0"), ("statement_timeout", "5s"),
            ] + readingOfShard,
            statements: Queries.statements
                + (shard == nil ? [] : ShardReads.statements), users: .parameters)
    }

    /// A query that waits for the end of a shard's move would then read what was there before it (`ShardGuard`).
    private var readingOfShard: [(name: String, value: String)] { shard == nil ? [] : [("lock_timeout", "50ms")] }

    /// On Citus, of the sessions that hold the locks of shards.
    var owner: ConnectionConfiguration {
        // Who waits for the last batches of a shard's former owner keeps its heartbeat, and tries again.
        connection("parley-store-owner", settings: [("lock_timeout", "1s")], statements: [])
    }

    private func connection(
        _ name: String, settings: [(name: String, value: String)], statements: [Statement], users: UserRows = .ofShard
    ) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(
            url: databaseURL, applicationName: name, settings: settings, statements: statements,
            sessionSource: sessionSource)
        configuration.reach(shard)
        configuration.users = users
        return configuration
    }

    /// What begins batches of a shard.
    private var guards: [Statement] { shard?.guards.statements ?? [] }
}
