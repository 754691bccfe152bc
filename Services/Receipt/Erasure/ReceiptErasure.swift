import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Removes the receipts of users whom a store erases, a bounded piece per request.
///
/// The store sends the request when the user's stays are gone. A signal of theirs that was in time holds the lock of
/// the conversation's position, so its receipt is found here. A later one finds no stay and is refused.
@Reactor
struct ReceiptErasure {
    nonisolated static let statements = [lock.untyped, erase.untyped]

    nonisolated static let rowsLimit = 2_000

    private struct Input: NamedFields {
        let key: ConversationInput
        let user: Parameter<UserID>
    }

    private struct Columns: NamedFields { let hasMore: Column<Bool> }

    private nonisolated static let lock = PreparedStatement<ConversationInput, NoFields>(
        "lock_erased_position", PackageResources.lock_erased_position_sql, .receipt)
    private nonisolated static let erase = PreparedStatement<Input, Columns>(
        "erase_receipts", PackageResources.erase_receipts_sql, .receipt)

    private let connection: Connection
    private let bus: Bus
    private let log: Log
    /// On Citus, where when the user was online is removed.
    private let others: OtherShards?

    init(_ connection: Connection, bus: Bus, log: Log, others: OtherShards?) {
        self.connection = connection
        self.others = others
        self.bus = bus
        self.log = log
    }

    func respond(to request: RequestKey, _ erasure: EraseReceipts) {
        guard connection.isUp else { return bus.abandon(request) }
        connection.submit { [others] batch in
            if others == nil { batch.execute(LastSeenStatements.forget) { $0.set($1, to: erasure.user) } }
            batch.execute(Self.lock) { $0.set($1, to: erasure.conversation) }
            batch.execute(Self.erase) { parameters, input in
                parameters.set(input.key, to: erasure.conversation)
                parameters.set(input.user, to: erasure.user)
            }
        } completion: { [self] outcome in
            switch outcome {
            case .committed(let rows):
                let hasMore: Bool = rows[rows.count - 1].first.map { $0[Self.erase.columns.hasMore] } ?? false
                if let others, !hasMore { return forgetSeen(erasure.user, others, request) }
                bus.respond(to: request, status: hasMore ? 202 : 204)
            case .failed(let error, _), .unknown(let error): failed(request, error)
            }
        }
    }

    private func forgetSeen(_ user: UserID, _ others: OtherShards, _ request: RequestKey) {
        Reactor.spawn { [self] in
            do throws(DatabaseError) {
                try await others.forgetSeen(user)
                bus.respond(to: request, status: 204)
            } catch { failed(request, error) }
        }
    }

    private func failed(_ request: RequestKey, _ error: DatabaseError) {
        log.warning("receipts could not be erased", [LogField("reason", error.debugDescription)])
        bus.abandon(request)
    }
}
