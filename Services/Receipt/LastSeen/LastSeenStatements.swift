import Models
import Postgres
import Slots
import Wire

/// The statements of `LastSeenKeeper`.
enum LastSeenStatements {
    /// The number of direct conversations that are looked at.
    static let peersLimit = 100
    /// The number of conversations among which they are looked for on Citus, so many as are asked about in one request for
    /// each of 32 shards.
    static let conversationsLimit = 32 * PeersQuery.limit

    struct PeerColumns: NamedFields {
        let userId: Column<UserID>
        let seenAt: Column<Timestamp>
    }

    struct PeersInput: NamedFields {
        let key: ConversationsInput
        let user: Parameter<UserID>
    }

    struct ListedColumns: NamedFields { let conversationId: Column<ConversationID> }

    struct DirectColumns: NamedFields {
        let userId: Column<UserID>
        let lastAt: Column<Timestamp>
    }

    static let seen = PreparedStatement<UsersInput, NoFields>("seen", PackageResources.seen_sql, .receipt)
    static let forget = PreparedStatement<UserInput, NoFields>(
        "forget_seen", PackageResources.forget_seen_sql, .receipt)

    static let ofPeers = PreparedStatement<UserInput, PeerColumns>(
        "last_seen_of_peers", PackageResources.last_seen_of_peers_sql, .receipt)

    // The parts of `ofPeers` on Citus.
    static let listed = PreparedStatement<UserInput, ListedColumns>(
        "listed_conversations", PackageResources.listed_conversations_sql, .receipt)
    static let directPeers = PreparedStatement<PeersInput, DirectColumns>(
        "direct_peers", PackageResources.direct_peers_sql, .receipt)
    static let seenPeers = PreparedStatement<UsersInput, PeerColumns>(
        "seen_peers", PackageResources.seen_peers_sql, .receipt)

    static let ofShards = [listed.untyped, directPeers.untyped, seenPeers.untyped]

    static func departure(_ row: Row) -> PresenceList.Departure {
        PresenceList.Departure(row[ofPeers.columns.userId], lastSeen: row[ofPeers.columns.seenAt])
    }
}
