import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// One shard of a database on Citus, with a service of its own: sessions straight to the shard's node, which know its
/// tables by their names, and in which every batch proves that the shard is there and this store's.
@Reactor
final class StoreShard {
    let shard: Placement.Shard
    let slots: OwnedSlots
    let service: StoreService
    private let place: ShardPlace
    /// Of the slots while the shard is this store's. They are served as soon as they can be.
    private var epochs: [Slot: Int64] = [:]
    private(set) var isServing = false
    /// What it reads of other shards, too.
    var reads: ShardReads?
    private var rest: TimerID?

    /// How long sessions live on without the shard: what is in flight ends meanwhile, and the shard may come back.
    private static let restDelay = Duration.seconds(2)
    private static let shardGuard = ShardGuard(schema: Schema.name)

    /// - Parameter onRefused: called when a batch has found that the shard is on another node, or another store's.
    init(
        _ shard: Placement.Shard, _ configuration: StoreConfiguration, _ borrowing: Borrowing, bus: Bus, log: Log,
        onRefused: @escaping @Reactor (Placement.Shard) -> Void
    ) {
        self.shard = shard
        let place = ShardPlace(shard.node)
        self.place = place
        slots = OwnedSlots(bus, .store)
        var configuration = configuration
        configuration.shard = ShardConnections(
            names: shard.names, guards: Self.shardGuard, borrowing: borrowing, node: { place.node })
        service = StoreService(configuration, bus: bus, log: log, shardSlots: slots)
        for (connection, use) in service.connections {
            connection.opening = { [weak self] batch in
                // Without the shard nothing is proved: there is no such epoch.
                let epoch = self?.epochs[shard.key] ?? -1
                Self.shardGuard.begin(&batch, use, of: shard, epoch: epoch)
                return { error in
                    // A batch of before the shard was acquired anew says nothing of now.
                    guard self?.epochs[shard.key] == epoch else { return }
                    if error.sqlState == .shardHasMoved || error.sqlState == .epochHasPassed { onRefused(shard) }
                }
            }
        }
        service.writer.connection.onUp { [weak self] in self?.serve() }
        service.queries.connection.onUp { [weak self] in self?.serve() }
    }

    // MARK: Ownership

    func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress) {
        epochs[slot] = epoch
        guard epochs.count == shard.slots.count else { return }
        if let rest { Reactor.cancel(rest) }
        rest = nil
        if place.node != node {
            service.rest()
            place.node = node
        }
        service.open()
        serve()
    }

    func lost(_ slot: Slot) {
        epochs[slot] = nil
        if isServing { slots.lost(slot) }
        guard epochs.isEmpty else { return }
        isServing = false
        rest =
            rest
            ?? Reactor.after(Self.restDelay) { [weak self] in
                self?.rest = nil
                self?.service.rest()
            }
    }

    /// Takes requests once there are sessions to answer them with.
    private func serve() {
        guard !isServing, epochs.count == shard.slots.count, service.writer.connection.isUp,
            service.queries.connection.isUp
        else { return }
        isServing = true
        for (slot, epoch) in epochs.sorted(by: { $0.key < $1.key }) { slots.acquired(slot, epoch: epoch) }
    }
}

/// How the connections of a service reach the tables of one shard.
struct ShardConnections: Sendable {
    let names: ShardNames
    let guards: ShardGuard
    let borrowing: Borrowing
    let node: @Sendable () -> NodeAddress
}
