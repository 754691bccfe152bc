import Bus
import Models
import Reactor
import ServiceKit
import Slots
import Wire

/// A receipt service on a database on Citus: a service for each shard, and one receiver, which passes each request on to the
/// shard of its slot.
@Reactor
final class ShardedReceipt {
    private let bus: Bus
    private let traffic = MessageTraffic()
    private let shards: ServedShards<ReceiptService>

    init(_ placement: Placement, _ configuration: ReceiptConfiguration, bus: Bus, log: Log) {
        self.bus = bus
        let others = OtherShards(placement, bus: bus)
        shards = ServedShards(
            placement, owner: configuration.owner, schema: Schema.name, lockClass: Schema.slotLocks,
            onEndedSession: {
                log.warning("ended the session of a silent receipt service", [LogField("pid", $0)])
            },
            slots: { OwnedSlots(bus, .receipt) },
            make: { [traffic] connections, slots in
                var configuration = configuration
                configuration.shard = connections
                return ReceiptService(
                    configuration, bus: bus, log: log, shardSlots: slots, traffic: traffic, others: others)
            })
    }

    var services: [ReceiptService] { shards.services }

    func start() {
        bus.receivesOwnFrames = true  // What is asked of other shards may be this very service's.
        bus.onFrame = { [self] frame in receive(frame) }
        traffic.follow(bus)
        shards.start()
    }

    /// Stops taking requests, and waits for the responses to those in flight.
    func finish() async {
        bus.onFrame = { _ in }
        for service in services { await service.finishAccepted() }
    }

    /// Gives all slots away, behind a last digest of each shard.
    func drain() async { await shards.drain() }

    private func receive(_ frame: InboundFrame) {
        switch frame.topic {
        case .receiptCommand:
            shards.forEachRequest(in: frame) { (shard, entry, request, _) throws(WireError) in
                try shard.service.receive(entry, request, from: frame.sender)
            }
        case .digest: traffic.receive(frame)
        default: break
        }
    }
}
