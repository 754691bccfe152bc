import Bus
import Models
import Postgres
import Reactor
import Wire

/// A service that works on one shard of a database on Citus as on a database of its own.
@Reactor
public protocol ShardService: AnyObject {
    /// All connections, each with what it is for.
    var connections: [(Connection, ShardGuard.Use)] { get }
    /// Whether there are sessions to answer requests with. It may change when one of the connections comes up.
    var isReady: Bool { get }

    /// Opens all connections, whoever holds the slots.
    func open()
    /// Ends all sessions until `open`. Requests in flight get no response.
    func rest()
}

/// How the connections of a service reach the tables of one shard.
public struct ShardConnections: Sendable {
    public let names: ShardNames
    public let guards: ShardGuard
    public let node: @Sendable () -> NodeAddress

    public init(names: ShardNames, guards: ShardGuard, node: @escaping @Sendable () -> NodeAddress) {
        self.names = names
        self.guards = guards
        self.node = node
    }
}

extension ConnectionConfiguration {
    /// Has the session reach the shard's node, by the names of its tables.
    public mutating func reach(_ shard: ShardConnections?) {
        guard let shard else { return }
        self.shard = shard.names
        node = shard.node
        statements += shard.guards.statements
    }
}

/// One shard of a database on Citus, with a service of its own: sessions straight to the shard's node, which know its
/// tables by their names, and in which every batch proves that the shard is there and this process's.
@Reactor
public final class ServedShard<Service: ShardService> {
    public let shard: Placement.Shard
    public let slots: OwnedSlots
    public let service: Service
    private let place: ShardPlace
    /// Of the slots while the shard is this process's. They are served as soon as they can be.
    private var epochs: [Slot: Int64] = [:]
    public private(set) var isServing = false
    private var rest: TimerID?

    /// How long sessions live on without the shard: what is in flight ends meanwhile, and the shard may come back.
    private static var restDelay: Duration { .seconds(2) }

    /// - Parameters:
    ///   - onRefused: called when a batch has found that the shard is on another node, or another process's.
    ///   - make: makes the service with these slots, whose connections are all configured by `reach`.
    init(
        _ shard: Placement.Shard, _ guards: ShardGuard, _ slots: OwnedSlots,
        onRefused: @escaping @Reactor (Placement.Shard) -> Void,
        make: @Reactor (ShardConnections, OwnedSlots) -> Service
    ) {
        self.shard = shard
        self.slots = slots
        let place = ShardPlace(shard.node)
        self.place = place
        service = make(ShardConnections(names: shard.names, guards: guards, node: { place.node }), slots)
        for (connection, use) in service.connections {
            connection.opening = { [weak self] batch in
                // Without the shard nothing is proved: there is no such epoch.
                let epoch = self?.epochs[shard.key] ?? -1
                guards.begin(&batch, use, of: shard, epoch: epoch)
                return { error in
                    // A batch of before the shard was acquired anew says nothing of now.
                    guard self?.epochs[shard.key] == epoch else { return }
                    if error.sqlState == .shardHasMoved || error.sqlState == .epochHasPassed { onRefused(shard) }
                }
            }
        }
        for (connection, _) in service.connections { connection.onUp { [weak self] in self?.serve() } }
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
        guard !isServing, epochs.count == shard.slots.count, service.isReady else { return }
        isServing = true
        for (slot, epoch) in epochs.sorted(by: { $0.key < $1.key }) { slots.acquired(slot, epoch: epoch) }
    }
}

/// A service for each shard of a database on Citus, and the shards that this process owns of them.
@Reactor
public final class ServedShards<Service: ShardService>: ShardOwnersDelegate {
    public let placement: Placement
    /// In the order of the placement.
    public private(set) var shards: [ServedShard<Service>] = []
    private var owners: ShardOwners!

    /// - Parameters:
    ///   - owner: of the sessions that hold the locks of shards.
    ///   - make: makes the service of a shard, see `ServedShard`.
    public init(
        _ placement: Placement, owner: ConnectionConfiguration, schema: String, lockClass: Int32,
        onEndedSession: @escaping @Reactor (Int32) -> Void, slots: @Reactor () -> OwnedSlots,
        make: @Reactor (ShardConnections, OwnedSlots) -> Service
    ) {
        self.placement = placement
        owners = ShardOwners(placement, owner, schema: schema, lockClass: lockClass, delegate: self)
        let guards = ShardGuard(schema: schema)
        shards = placement.shards.map { shard in
            ServedShard(
                shard, guards, slots(), onRefused: { [weak self] in self?.owners.giveUp($0) }, make: make)
        }
        for shard in shards { shard.slots.onEndedSession = onEndedSession }
    }

    public var services: [Service] { shards.map(\.service) }

    public func start() { owners.start() }

    /// Gives all slots away, behind a last digest of each shard.
    public func drain() async {
        for shard in shards { await shard.slots.drain() }
        await owners.drain()
    }

    /// The shard that has a slot.
    public subscript(slot: Slot) -> ServedShard<Service> { shards[placement.index(of: slot)] }

    /// Calls `body` with each request of a frame and the shard of its slot, as `OwnedSlots.takeRequest` does.
    public func forEachRequest(
        in frame: InboundFrame,
        _ body: (ServedShard<Service>, RequestEntry, RequestKey, UnsafeRawBufferPointer) throws(WireError) -> Void
    ) {
        for bytes in frame.entries {
            // What cannot be read is the first one's to refuse: it has no slot.
            let entry = try? RequestEntry(bytes)
            let shard = shards[entry.map { placement.index(of: $0.slot) } ?? 0]
            shard.slots.takeRequest(bytes, of: frame) { (entry, request, bytes) throws(WireError) in
                try body(shard, entry, request, bytes)
            }
        }
    }

    // MARK: ShardOwnersDelegate

    public func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress) {
        self[slot].acquired(slot, epoch: epoch, on: node)
    }

    public func lost(_ slot: Slot) { self[slot].lost(slot) }

    public func ended(session: Int32) { shards[0].slots.ended(session: session) }
}

extension Placement {
    /// Where the slots are; nil unless the database is distributed. Throws if they cannot be served there: Citus copies a shard
    /// that moves beside traffic by one subscription for each owner of tables, and does not wait for all of them (decision
    /// 0089). With several owners nodes must not be able to do that.
    public static func toServe(ofDatabaseAt url: String) throws -> Placement? {
        let database = try BlockingConnection(url: url, applicationName: "parley-check")
        guard let placement = try Placement(of: database) else { return nil }
        guard try owners(ofTablesIn: database) > 1 else { return placement }
        for node in Set(placement.shards.map(\.node)) {
            // One that is away does not keep the others from being served.
            guard let database = try? BlockingConnection(url: url, node: node, applicationName: "parley-check") else {
                continue
            }
            let level: String = try database.query("SELECT current_setting('wal_level')")[0][0]
            guard level != "logical" else { throw SeveralOwners(node: node) }
        }
        return placement
    }

    private static func owners(ofTablesIn database: BlockingConnection) throws -> Int {
        let count: Int64 = try database.query(
            """
            SELECT count(DISTINCT relowner) FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
            WHERE partmethod = 'h'
            """)[0][0]
        return Int(count)
    }
}

private struct SeveralOwners: Error, CustomStringConvertible {
    let node: NodeAddress

    var description: String {
        """
        the tables of the cluster have several owners, and \(node.host) has wal_level = logical, with which Citus loses messages \
        when it moves their shards: give all tables one owner
        """
    }
}
