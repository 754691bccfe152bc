import Models
import Postgres
import Slots
import Wire

/// The statements of `LastSeenKeeper`.
enum LastSeenStatements {
    /// The number of direct conversations that are looked at.
    static let peersLimit = 100

    struct PeerColumns: NamedFields {
        let userId: Column<UserID>
        let seenAt: Column<Timestamp>
    }

    static let seen = PreparedStatement<UsersInput, NoFields>("seen", PackageResources.seen_sql, .receipt)

    static let ofPeers = PreparedStatement<UserInput, PeerColumns>(
        "last_seen_of_peers", PackageResources.last_seen_of_peers_sql, .receipt)

    static func departure(_ row: Row) -> PresenceList.Departure {
        PresenceList.Departure(row[ofPeers.columns.userId], lastSeen: row[ofPeers.columns.seenAt])
    }
}
