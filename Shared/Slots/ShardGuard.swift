import Models
import Postgres
import Reactor
import Synchronization

/// What begins every batch of a session that reaches a shard by its names: see `placement.hold` (`Distribution`).
///
/// It proves the epoch of the shard's lowest slot, which stands for all of them: they are acquired in one statement.
public struct ShardGuard: Sendable {
    /// For sessions that write. It keeps the shard from being moved and its slots from being taken over until the batch ends.
    public let writing: Statement
    /// For sessions that read. A read of one state of the database needs no lock on the epoch, and finds it as old as what
    /// it reads.
    public let reading: Statement

    /// - Parameter schema: of the table `slots`; from code.
    public init(schema: String) {
        func text(_ lock: String) -> String {
            "SELECT placement.hold($1, (SELECT s.epoch = $3 FROM \(schema).slots s WHERE s.slot = $2\(lock)))"
        }
        let parameters: [PostgresType] = [.int8, .int2, .int8]
        writing = Statement("hold_shard", parameters: parameters, text(" FOR SHARE"))
        reading = Statement("look_at_shard", parameters: parameters, text(""))
    }

    public static func add(
        _ statement: Statement, of shard: Placement.Shard, epoch: Int64, to batch: inout Batch
    ) {
        batch.execute(statement) { parameters in
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
