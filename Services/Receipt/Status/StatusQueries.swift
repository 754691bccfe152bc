import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Responds to queries on a separate connection, so that they neither wait for a commit nor delay one.
@Reactor
final class StatusQueries {
    let connection: Connection
    let responder: QueryResponder

    init(_ connection: Connection, bus: Bus, log: Log) {
        self.connection = connection
        responder = QueryResponder(limit: 4_096, bus: bus, log: log)
    }

    func respond(to request: RequestKey, _ query: StatusQuery) {
        responder.begin(request) { [connection] () throws(DatabaseError) in
            let status = try await StatusStatements.status(query, on: connection)
            return { status.writeEntry(to: &$0) }
        }
    }

    func respond(to request: RequestKey, _ query: StreamPositions, in slot: Slot) {
        responder.begin(request) { [connection] () throws(DatabaseError) in
            let positions = try await StatusStatements.positions(query.conversations, in: slot, on: connection)
            return { positions.write(to: &$0) }
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
