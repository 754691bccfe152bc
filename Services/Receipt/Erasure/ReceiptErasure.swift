import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Removes the receipts of users whom a store erases, a bounded piece per request.
///
/// The store sends the request when the user's stays are gone. A signal of theirs that was in time holds the lock of
/// the conversation's position, so its receipt is found here. A later one finds no stay and is refused.
@Reactor
struct ReceiptErasure {
    nonisolated static let statements = [lock, erase]

    private nonisolated static let rowsLimit = 2_000

    private let connection: Connection
    private let bus: Bus
    private let log: Log

    init(_ connection: Connection, bus: Bus, log: Log) {
        self.connection = connection
        self.bus = bus
        self.log = log
    }

    func answer(_ request: RequestKey, _ erasure: EraseReceipts) {
        guard connection.isUp else { return bus.abandon(request) }
        connection.submit { batch in
            batch.execute(Self.lock) { Self.add(erasure, to: &$0) }
            batch.execute(Self.erase) { Self.add(erasure, to: &$0) }
        } completion: { [bus, log] outcome in
            switch outcome {
            case .committed(let rows):
                let hasMore: Bool = rows[1].first.map { $0[0] } ?? false
                bus.answer(request, status: hasMore ? 202 : 204)
            case .failed(let error, _), .unknown(let error):
                log.warning("receipts could not be erased", [LogField("reason", error.debugDescription)])
                bus.abandon(request)
            }
        }
    }

    private static func add(_ erasure: EraseReceipts, to parameters: inout Parameters) {
        parameters.add(erasure.conversation.slot)
        parameters.add(erasure.conversation)
        parameters.add(erasure.user)
    }

    private nonisolated static let lock = Statement(
        "lock_erased_position", parameters: [.int2, .uuid, .text],
        """
        SELECT FROM receipt.positions p WHERE p.slot = $1 AND p.conversation_id = $2 AND $3 <> '' FOR NO KEY UPDATE
        """)

    private nonisolated static let erase = Statement(
        "erase_receipts", parameters: [.int2, .uuid, .text],
        """
        WITH no_runs AS (
            DELETE FROM receipt.receipt_runs r
            WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = $3 AND (r.kind, r.to_seq) IN (
                SELECT o.kind, o.to_seq FROM receipt.receipt_runs o
                WHERE o.slot = $1 AND o.conversation_id = $2 AND o.user_id = $3
                ORDER BY o.kind, o.to_seq LIMIT \(rowsLimit))
            RETURNING 1
        ), no_horizon AS (
            DELETE FROM receipt.horizons h
            WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id = $3
        ), no_last_seen AS (
            DELETE FROM receipt.last_seen l WHERE l.user_id = $3
        )
        SELECT (SELECT count(*) FROM no_runs) = \(rowsLimit)
        """)
}
