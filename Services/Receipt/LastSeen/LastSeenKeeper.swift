import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Keeps when users were last online, for those who connect after they left.
@Reactor
final class LastSeenKeeper {
    let answers: DatabaseAnswers
    private let writing: Connection
    private let reading: Connection

    init(writing: Connection, reading: Connection, bus: Bus, log: Log) {
        self.writing = writing
        self.reading = reading
        answers = DatabaseAnswers(limit: 1_024, bus: bus, log: log)
    }

    func keep(_ seen: SeenUsers, _ request: RequestKey) {
        answers.begin(request, status: 204) { [writing] () throws(DatabaseError) in
            _ = try await writing.query(LastSeenStatements.seen) { LastSeenStatements.add(seen, to: &$0) }
            return { _ in }
        }
    }

    func answer(_ request: RequestKey, _ query: LastSeenQuery) {
        answers.begin(request) { [reading] () throws(DatabaseError) in
            let rows = try await reading.query(LastSeenStatements.ofPeers) { parameters in
                parameters.add(query.user)
                parameters.add(query.user.slot)
            }
            let answer = LastSeen(rows.map(LastSeenStatements.departure))
            return { answer.write(to: &$0) }
        }
    }
}
