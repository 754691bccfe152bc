import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Keeps when users were last online, for those who connect after they left.
@Reactor
final class LastSeenKeeper {
    let responder: QueryResponder
    private let writing: Connection
    private let reading: Connection
    private let others: OtherShards?

    init(writing: Connection, reading: Connection, bus: Bus, log: Log, others: OtherShards?) {
        self.writing = writing
        self.reading = reading
        self.others = others
        responder = QueryResponder(limit: 1_024, bus: bus, log: log)
    }

    func keep(_ seen: SeenUsers, _ request: RequestKey) {
        responder.begin(request, status: 204) { [writing] () throws(DatabaseError) in
            _ = try await writing.query(LastSeenStatements.seen) { $0.set($1, to: seen.users) }
            return { _ in }
        }
    }

    func respond(to request: RequestKey, _ query: LastSeenQuery) {
        responder.begin(request) { [reading, others] () throws(DatabaseError) in
            let response =
                if let others {
                    LastSeen(try await Self.ofPeers(of: query.user, reading, others))
                } else {
                    LastSeen(
                        try await reading.query(LastSeenStatements.ofPeers) { $0.set($1, to: query.user) }
                            .map(LastSeenStatements.departure))
                }
            return { response.write(to: &$0) }
        }
    }

    // MARK: Shards

    /// What one statement finds in one PostgreSQL: the user's conversations here, their members where these are, and when those
    /// were online where they are. If a part is not found out, neither is the whole.
    private static func ofPeers(
        of user: UserID, _ reading: Connection, _ others: OtherShards
    ) async throws(DatabaseError) -> [PresenceList.Departure] {
        let columns = LastSeenStatements.listed.columns
        let listed = try await reading.query(LastSeenStatements.listed) { $0.set($1, to: user) }
            .map { $0[columns.conversationId] }
        let peers = try await others.peers(of: user, in: listed)
        return try await others.lastSeen(peers)
    }

    func respond(to request: RequestKey, _ query: PeersQuery) {
        responder.begin(request) { [reading] () throws(DatabaseError) in
            let columns = LastSeenStatements.directPeers.columns
            let peers = try await reading.query(LastSeenStatements.directPeers) { parameters, input in
                parameters.set(input.key, to: query.conversations)
                parameters.set(input.user, to: query.user)
            }.map { Peers.Peer($0[columns.userId], lastAt: $0[columns.lastAt]) }
            return { Peers(peers).write(to: &$0) }
        }
    }

    func respond(to request: RequestKey, _ query: SeenUsers) {
        responder.begin(request) { [reading] () throws(DatabaseError) in
            let columns = LastSeenStatements.seenPeers.columns
            let seen = try await reading.query(LastSeenStatements.seenPeers) { $0.set($1, to: query.users) }
                .map { PresenceList.Departure($0[columns.userId], lastSeen: $0[columns.seenAt]) }
            return { LastSeen(seen).write(to: &$0) }
        }
    }

    /// Of a user who is erased.
    func forget(_ user: UserID, _ request: RequestKey) {
        responder.begin(request, status: 204) { [writing] () throws(DatabaseError) in
            _ = try await writing.query(LastSeenStatements.forget) { $0.set($1, to: user) }
            return { _ in }
        }
    }
}
