import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Answers queries, on a connection of their own so that they never wait for a commit or delay one.
@Reactor
final class StatusQueries {
    /// Queries being answered at once. Beyond it a query is refused as overload.
    static let limit = 4_096

    let connection: Connection
    private let bus: Bus
    private let log: Log
    private(set) var inWork = 0
    private(set) var answered = 0

    init(_ connection: Connection, bus: Bus, log: Log) {
        self.connection = connection
        self.bus = bus
        self.log = log
    }

    func answer(_ request: RequestKey, _ query: StatusQuery) {
        begin(request) { [connection] () throws(DatabaseError) in
            let status = try await StatusStatements.status(query, on: connection)
            return { status.writeEntry(to: &$0) }
        }
    }

    func answer(_ request: RequestKey, _ query: StreamPositions, in slot: Slot) {
        begin(request) { [connection] () throws(DatabaseError) in
            let positions = try await StatusStatements.positions(query.conversations, in: slot, on: connection)
            return { positions.write(to: &$0) }
        }
    }

    private typealias Answer = (inout ByteBuffer) -> Void

    private func begin(_ request: RequestKey, _ read: @escaping @Reactor () async throws(DatabaseError) -> Answer) {
        guard inWork < Self.limit else {
            return bus.answer(request, Problem(.overloaded, "the receipt service has too much to do"))
        }
        inWork += 1
        Reactor.spawn { [self] in
            await finish(request, read)
            inWork -= 1
        }
    }

    /// When the database fails, the request is given back: its repetition finds it working again, here or elsewhere, or
    /// runs into its deadline.
    private func finish(_ request: RequestKey, _ read: @Reactor () async throws(DatabaseError) -> Answer) async {
        do {
            let answer = try await read()
            answered += 1
            bus.answer(request, status: 200, payload: answer)
        } catch {
            log.warning("query failed", [LogField("reason", error.debugDescription)])
            bus.abandon(request)
        }
    }
}

extension StreamPositions {
    /// Only conversations have a status.
    fileprivate var conversations: [(ConversationID, Int64)] {
        positions.compactMap { position in
            if case .conversation(let conversation) = position.key { (conversation, position.position) } else { nil }
        }
    }
}
