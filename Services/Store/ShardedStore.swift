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
/// A service knows its own shard alone: by its sessions, a row of another one is not there. What it needs of others is borrowed
/// (`Borrowing`), or read by their owners (`ShardReads`).
@Reactor
final class ShardedStore {
    private let bus: Bus
    private let shards: ServedShards<StoreService>
    /// Of each shard, what it reads of others, too.
    private var reads: [ShardReads] = []

    init(_ placement: Placement, _ configuration: StoreConfiguration, bus: Bus, log: Log) {
        self.bus = bus
        shards = ServedShards(
            placement, owner: configuration.owner, schema: Schema.name, lockClass: Schema.slotLocks,
            onEndedSession: { log.warning("ended the session of a silent store", [LogField("pid", $0)]) },
            slots: { OwnedSlots(bus, .store) },
            make: { connections, slots in
                var configuration = configuration
                configuration.shard = connections
                return StoreService(configuration, bus: bus, log: log, shardSlots: slots)
            })
        reads = shards.shards.enumerated().map { index, shard in
            ShardReads(index, of: placement, shard.service.queries, bus: bus) { [weak self] in
                guard let self, shards.shards[$0].isServing else { return nil }
                return reads[$0]
            }
        }
    }

    var services: [StoreService] { shards.services }

    func start() {
        FoldedScalar.prepare()
        bus.onFrame = { [self] frame in receive(frame) }
        shards.start()
    }

    /// Stops accepting requests and waits for the responses to accepted ones.
    func finish() async {
        bus.onFrame = { _ in }
        for service in services { await service.finishAccepted() }
    }

    /// Gives all slots away, behind a last digest of each shard.
    func drain() async { await shards.drain() }

    // MARK: Requests

    private func receive(_ frame: InboundFrame) {
        guard case .command = frame.topic else { return }
        shards.forEachRequest(in: frame) { (shard, entry, request, bytes) throws(WireError) in
            let kind = try StoreRequestKind(of: entry, from: frame.sender)
            if kind == .userRows, frame.sender == .receipt { try requirePublished(entry.fields) }
            try shard.service.receive(entry, request, in: frame, bytes)
        }
    }

    /// `receipt` is lent what is published to it, and no row of anything else.
    private func requirePublished(_ fields: UnsafeRawBufferPointer) throws(WireError) {
        var reader = ByteReader(fields)
        let tables = try UserRowsQuery(from: &reader).tables
        guard tables.allSatisfy(UserRowsStatements.ofReceipt.contains) else {
            throw .unknownValue(field: "tables", UInt64(tables.count))
        }
    }
}
