import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// A store on a database on Citus: a service for each shard, and one receiver, which passes each request on to the shard
/// of its slot.
///
/// A service knows its own shard alone: by its sessions, a row of another one is not there. What a request reads elsewhere is
/// borrowed or read there (`ShardReads`), and what it writes elsewhere is borrowed and given back (`Borrowing`).
@Reactor
final class ShardedStore: ShardOwnersDelegate {
    private let bus: Bus
    private let placement: Placement
    private var owners: ShardOwners!
    private var shards: [StoreShard] = []

    /// What is read of a distributed database at the start.
    struct Database {
        let placement: Placement
        let borrowing: Borrowing
    }

    init(_ database: Database, _ configuration: StoreConfiguration, bus: Bus, log: Log) {
        let placement = database.placement
        self.bus = bus
        self.placement = placement
        owners = ShardOwners(
            placement, configuration.owner, schema: Schema.name, lockClass: Schema.slotLocks, delegate: self)
        shards = placement.shards.map { shard in
            StoreShard(shard, configuration, database.borrowing, bus: bus, log: log) { [weak self] in
                self?.owners.giveUp($0)
            }
        }
        for (index, shard) in shards.enumerated() {
            shard.reads = ShardReads(index, of: placement, shard.service.queries, bus: bus) { [weak self] in
                guard let shard = self?.shards[$0], shard.isServing else { return nil }
                return shard.reads
            }
        }
        for shard in shards {
            shard.slots.onEndedSession = { log.warning("ended the session of a silent store", [LogField("pid", $0)]) }
        }
    }

    /// Nil unless the database is distributed. Throws if it cannot be served.
    static func database(of configuration: StoreConfiguration) throws -> Database? {
        let database = try BlockingConnection(url: configuration.databaseURL, applicationName: "parley-check")
        guard let placement = try Placement(of: database) else { return nil }
        try requireMovesWithoutWrites(placement, url: configuration.databaseURL)
        return Database(placement: placement, borrowing: try Borrowing(placement, of: database))
    }

    /// Throws if a shard could be moved beside writes. Citus then copies it by logical replication, which has lost what was
    /// committed straight to the shard meanwhile (decision 0063). Nodes that cannot do that move shards while writes wait.
    private static func requireMovesWithoutWrites(_ placement: Placement, url: String) throws {
        for node in Set(placement.shards.map(\.node)) {
            // One that is away does not keep the others from being served.
            guard let database = try? BlockingConnection(url: url, node: node, applicationName: "parley-check") else {
                continue
            }
            let level: String = try database.query("SELECT current_setting('wal_level')")[0][0]
            guard level != "logical" else { throw MovesBesideWrites(node: node) }
        }
    }

    private struct MovesBesideWrites: Error, CustomStringConvertible {
        let node: NodeAddress

        var description: String {
            """
            \(node.host) has wal_level = logical, by which Citus moves shards beside traffic and loses messages; \
            set it to replica
            """
        }
    }

    var services: [StoreService] { shards.map(\.service) }

    func start() {
        FoldedScalar.prepare()
        bus.onFrame = { [self] frame in receive(frame) }
        owners.start()
    }

    /// Stops accepting requests and waits for the responses to accepted ones.
    func finish() async {
        bus.onFrame = { _ in }
        for service in services { await service.finishAccepted() }
    }

    /// Gives all slots away, behind a last digest of each shard.
    func drain() async {
        for shard in shards { await shard.slots.drain() }
        await owners.drain()
    }

    // MARK: Requests

    private func receive(_ frame: InboundFrame) {
        guard case .command = frame.topic else { return }
        for bytes in frame.entries { receive(bytes, in: frame) }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, in frame: InboundFrame) {
        // What cannot be read is the first one's to refuse: it has no slot.
        let entry = try? RequestEntry(bytes)
        let shard = shards[entry.map { placement.index(of: $0.slot) } ?? 0]
        shard.slots.takeRequest(bytes, of: frame) { (entry, request, bytes) throws(WireError) in
            try shard.service.receive(entry, request, in: frame, bytes)
        }
    }

    // MARK: ShardOwnersDelegate

    func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress) {
        shards[placement.index(of: slot)].acquired(slot, epoch: epoch, on: node)
    }

    func lost(_ slot: Slot) { shards[placement.index(of: slot)].lost(slot) }

    func ended(session: Int32) { shards[0].slots.ended(session: session) }
}
