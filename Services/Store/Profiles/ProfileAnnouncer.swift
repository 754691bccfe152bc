import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Tells open clients of changed profiles, behind the commits: one user after the other, no faster than
/// `conversationsPerSecond`. So whoever is in thousands of conversations and changes their profile all the time is told of
/// once in a while, and delays others by that at most. Nothing depends on it: clients find out when they read again.
@Reactor
final class ProfileAnnouncer {
    /// Users who wait. Of more, open clients are not told.
    static let limit = 4_096
    static let conversationsPerSecond = 10_000

    private let bus: Bus
    private let connection: QueryConnections
    private let log: Log
    private var waiting = FIFO<UserID>()
    /// Of those who wait.
    private var versions: [UserID: Int64] = [:]
    private var isBusy = false
    private(set) var dropped = 0

    init(bus: Bus, connection: QueryConnections, log: Log) {
        self.bus = bus
        self.connection = connection
        self.log = log
    }

    var waitingCount: Int { versions.count }

    func changed(_ user: UserID, to version: Int64) {
        if versions[user] == nil {
            guard versions.count < Self.limit else { return dropped += 1 }
            waiting.append(user)
        }
        versions[user] = version
        guard !isBusy else { return }
        isBusy = true
        Reactor.spawn { [self] in await announceAll() }
    }

    private func announceAll() async {
        while let user = waiting.popFirst(), let version = versions.removeValue(forKey: user) {
            let count = await announce(user, version)
            await Reactor.sleep(for: .seconds(1) * count / Self.conversationsPerSecond)
        }
        isBusy = false
    }

    /// Returns the number of conversations.
    private func announce(_ user: UserID, _ version: Int64) async -> Int {
        let statement = ProfileStatements.audience
        do {
            let rows = try await Requester.user(user).run {
                try await connection.query(statement) { $0.set($1, to: user) }
            }
            publish(user, version, rows.map { $0[statement.columns.conversationId] })
            return rows.count
        } catch {
            log.warning("open clients are not told of a profile", [LogField("reason", "\(error)")])
            return 0
        }
    }

    private func publish(_ user: UserID, _ version: Int64, _ conversations: [ConversationID]) {
        for (group, conversations) in Dictionary(grouping: conversations, by: \.slot.group) {
            var rest = conversations[...]
            while !rest.isEmpty {
                let news = ProfileNews(user, version: version, Array(rest.prefix(ProfileNews.limit)))
                bus.append(to: .ephemeral(group)) { EphemeralEntry.profile(news).write(to: &$0) }
                rest = rest.dropFirst(ProfileNews.limit)
            }
        }
    }
}
