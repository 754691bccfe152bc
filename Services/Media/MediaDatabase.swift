import Bus
import Models
import Postgres
import Reactor
import Slots

/// The connections of media: two, or on Citus two for each shard, straight to its node.
///
/// Any process serves any file, whoever owns its slot, so there they are to all shards. Every batch holds its shard, so that
/// it is not moved meanwhile; it proves no epoch, as owning a slot only says who takes care of what is due.
@Reactor
final class MediaDatabase {
    /// Slots whose rows are reached by the same connections.
    struct Part {
        let slots: [Slot]
        let writing: Connection
        let reading: Connection
        /// On Citus, where the shard is.
        fileprivate let place: ShardPlace?

        @Reactor var isUp: Bool { writing.isUp && reading.isUp }
    }

    let parts: [Part]
    private let placement: Placement?
    private let start = MonotonicTime.now
    private var wasReached = false

    /// For which a process that starts waits for nodes that are away.
    private static let patience = Duration.seconds(5)

    /// Whether all shards have been reached once. On Citus a node that is away does not keep the others' files from being
    /// served for longer than `patience`.
    var isReached: Bool {
        wasReached = wasReached || parts.allSatisfy { $0.isUp } || MonotonicTime.now > start + Self.patience
        return wasReached
    }

    init(_ configuration: MediaConfiguration, _ placement: Placement?) {
        self.placement = placement
        guard let placement else {
            parts = [
                Part(
                    slots: Slot.all, writing: Connection(configuration.writer),
                    reading: Connection(configuration.reader),
                    place: nil)
            ]
            return
        }
        let guards = ShardGuard(schema: Schema.name)
        parts = placement.shards.map { shard in
            let place = ShardPlace(shard.node)
            let connections = ShardConnections(names: shard.names, guards: guards, node: { place.node })
            @Reactor func connection(_ configuration: ConnectionConfiguration) -> Connection {
                var configuration = configuration
                configuration.reach(connections)
                let connection = Connection(configuration)
                connection.opening = { batch in
                    guards.begin(&batch, of: shard)
                    return { _ in }
                }
                return connection
            }
            return Part(
                slots: shard.slots, writing: connection(configuration.writer),
                reading: connection(configuration.reader),
                place: place)
        }
    }

    private func part(of slot: Slot) -> Part { parts[placement?.index(of: slot) ?? 0] }

    func writing(_ slot: Slot) -> Connection { part(of: slot).writing }
    func reading(_ slot: Slot) -> Connection { part(of: slot).reading }

    var connections: [Connection] { parts.flatMap { [$0.writing, $0.reading] } }

    /// On Citus, a shard is on another node now.
    func moved(_ shard: Placement.Shard, to node: NodeAddress) {
        let part = part(of: shard.key)
        part.place?.node = node
        for connection in [part.writing, part.reading] {
            connection.rest()
            connection.open()
        }
    }
}

/// Which slots this process takes care of: by a lock on the writing connection, or on Citus on sessions of their own.
@Reactor
final class MediaSlots: ShardOwnersDelegate {
    let owned: OwnedSlots
    private var owners: ShardOwners?

    init(_ configuration: MediaConfiguration, _ placement: Placement?, _ database: MediaDatabase, bus: Bus) {
        guard let placement else {
            owned = OwnedSlots(
                bus, .media, connection: database.parts[0].writing, schema: Schema.name, lockClass: Schema.slotLocks)
            return
        }
        owned = OwnedSlots(bus, .media)
        owners = ShardOwners(
            placement, configuration.owner, schema: Schema.name, lockClass: Schema.slotLocks, delegate: self)
        owners?.onMoved = { [database] in database.moved($0, to: $1) }
    }

    func start() { owners?.start() }

    /// Gives all slots away.
    func drain() async {
        await owned.drain()
        await owners?.drain()
    }

    func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress) { owned.acquired(slot, epoch: epoch) }
    func lost(_ slot: Slot) { owned.lost(slot) }
    func ended(session: Int32) { owned.ended(session: session) }
}
