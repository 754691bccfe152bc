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

    init(writing: Connection, reading: Connection, bus: Bus, log: Log) {
        self.writing = writing
        self.reading = reading
        responder = QueryResponder(limit: 1_024, bus: bus, log: log)
    }

    func keep(_ seen: SeenUsers, _ request: RequestKey) {
        responder.begin(request, status: 204) { [writing] () throws(DatabaseError) in
            _ = try await writing.query(LastSeenStatements.seen) { $0.set($1, to: seen.users) }
            return { _ in }
        }
    }

    func respond(to request: RequestKey, _ query: LastSeenQuery) {
        responder.begin(request) { [reading] () throws(DatabaseError) in
            let rows = try await reading.query(LastSeenStatements.ofPeers) { $0.set($1, to: query.user) }
            let response = LastSeen(rows.map(LastSeenStatements.departure))
            return { response.write(to: &$0) }
        }
    }
}
