import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Keeps when users were last online, for those who connect after they left.
@Reactor
final class LastSeenKeeper {
    /// Requests being answered at once. Beyond it one is refused as overload.
    static let limit = 1_024

    private let writing: Connection
    private let reading: Connection
    private let bus: Bus
    private let log: Log
    private(set) var inWork = 0

    init(writing: Connection, reading: Connection, bus: Bus, log: Log) {
        self.writing = writing
        self.reading = reading
        self.bus = bus
        self.log = log
    }

    func keep(_ seen: SeenUsers, _ request: RequestKey) {
        begin(request) { [writing, bus] () throws(DatabaseError) in
            _ = try await writing.query(LastSeenStatements.seen) { LastSeenStatements.add(seen, to: &$0) }
            bus.answer(request, status: 204)
        }
    }

    func answer(_ request: RequestKey, _ query: LastSeenQuery) {
        begin(request) { [reading, bus] () throws(DatabaseError) in
            let rows = try await reading.query(LastSeenStatements.ofPeers) { parameters in
                parameters.add(query.user)
                parameters.add(query.user.slot)
            }
            let answer = LastSeen(rows.map(LastSeenStatements.departure))
            bus.answer(request, status: 200) { answer.write(to: &$0) }
        }
    }

    private func begin(_ request: RequestKey, _ body: @escaping @Reactor () async throws(DatabaseError) -> Void) {
        guard inWork < Self.limit else {
            return bus.answer(request, Problem(.overloaded, "the receipt service has too much to do"))
        }
        inWork += 1
        Reactor.spawn { [self] in
            await finish(request, body)
            inWork -= 1
        }
    }

    /// When the database fails, the request is given back to its repetition.
    private func finish(_ request: RequestKey, _ body: @Reactor () async throws(DatabaseError) -> Void) async {
        do {
            try await body()
        } catch {
            log.warning("presence was not kept or not told", [LogField("reason", error.debugDescription)])
            bus.abandon(request)
        }
    }
}
