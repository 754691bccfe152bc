import Models
import Postgres
import Reactor
import Synchronization

/// What begins every batch of a session that reaches a shard by its names: see `placement.hold` (`Distribution`).
///
/// It proves the epoch of the shard's lowest slot, which stands for all of them: they are acquired in one statement.
public struct ShardGuard: Sendable {
    public enum Use: Sendable {
        /// Keeps the shard from being moved and its slots from being taken over until the batch ends. Its lock of the epoch
        /// is the one that only a takeover waits for, and not who notes that all is noted.
        case writing
        /// A read of one state of the database needs no lock on the epoch, and finds it as old as what it reads.
        case reading
    }

    private let hold: Statement
    private let prove: Statement
    private let look: Statement

    /// - Parameter schema: of the table `slots`; from code.
    public init(schema: String) {
        func proof(_ lock: String) -> String {
            "SELECT placement.hold($1, (SELECT s.epoch = $3 FROM \(schema).slots s WHERE s.slot = $2\(lock)))"
        }
        let parameters: [PostgresType] = [.int8, .int2, .int8]
        hold = Statement("hold_shard", parameters: [.int8], "SELECT placement.hold($1, true)")
        prove = Statement("prove_epoch", parameters: parameters, proof(" FOR KEY SHARE"))
        look = Statement("look_at_shard", parameters: parameters, proof(""))
    }

    /// For the connection to prepare.
    public var statements: [Statement] { [hold, prove, look] }

    /// For what may be done without owning the slots: keeps the shard from being moved until the batch ends.
    public func begin(_ batch: inout Batch, of shard: Placement.Shard) {
        batch.execute(hold) { $0.add(shard.number) }
    }

    /// Who waits for the end of a move has no lock on a table yet: the move needs them all. Who reads hardly waits
    /// (`lock_timeout`).
    public func begin(_ batch: inout Batch, _ use: Use, of shard: Placement.Shard, epoch: Int64) {
        if use == .writing { batch.execute(hold) { $0.add(shard.number) } }
        batch.execute(use == .writing ? prove : look) { parameters in
            parameters.add(shard.number)
            parameters.add(Int16(shard.key.number))
            parameters.add(epoch)
        }
    }
}

/// The node of a shard, which sessions ask for on threads of their own.
public final class ShardPlace: Sendable {
    private let current: Mutex<NodeAddress>

    public init(_ node: NodeAddress) { current = Mutex(node) }

    public var node: NodeAddress {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
