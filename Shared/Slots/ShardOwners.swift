import Models
import Postgres
import Reactor

/// Shares the shards of a database on Citus among the processes of one kind: a `SlotOwner` for each node, on a session
/// straight to it.
///
/// Each node says itself which shards it has, in the session that holds the locks: who has lost the node owns none of them.
/// A shard that moves is given up here and acquired there, by whichever process; a shard is never owned on two nodes by
/// one process. That two processes may believe to own it for a moment does no harm, as every batch proves its epoch
/// (`ShardGuard`).
@Reactor
public final class ShardOwners {
    /// How long a shard that has moved may wait for its next owner, if no batch finds out before.
    private static let interval = Duration.milliseconds(500)

    public let placement: Placement
    private let schema: String
    private let lockClass: Int32
    private let configuration: ConnectionConfiguration
    private weak var delegate: (any ShardOwnersDelegate)?
    private var nodes: [NodeAddress: Node] = [:]
    /// The node of each shard, by its number, and what each node has said that it has.
    private var places: [Int64: NodeAddress]
    private var present: [NodeAddress: Set<Int64>] = [:]
    private var isDrained = false

    /// Called with each shard that has moved, whoever owns it, and its node.
    public var onMoved: @Reactor (Placement.Shard, NodeAddress) -> Void = { _, _ in }

    @Reactor private final class Node: SlotOwnerDelegate {
        let address: NodeAddress
        let connection: Connection
        unowned let owners: ShardOwners
        private(set) var owner: SlotOwner!

        init(_ address: NodeAddress, _ owners: ShardOwners) {
            var configuration = owners.configuration
            configuration.node = { address }
            self.address = address
            self.owners = owners
            connection = Connection(configuration)
            owner = SlotOwner(
                connection: connection, schema: owners.schema, lockClass: owners.lockClass, delegate: self,
                sharesShards: true)
        }

        func acquired(_ slot: Slot, epoch: Int64) {
            owners.giveUp(slot, except: self)
            owners.delegate?.acquired(slot, epoch: epoch, on: address)
        }
        func lost(_ slot: Slot) { owners.delegate?.lost(slot) }
        func ended(session: Int32) { owners.delegate?.ended(session: session) }
    }

    /// - Parameters:
    ///   - configuration: of the sessions that hold the locks; their node is set here.
    ///   - lockClass: as of `SlotOwner`.
    public init(
        _ placement: Placement, _ configuration: ConnectionConfiguration, schema: String, lockClass: Int32,
        delegate: any ShardOwnersDelegate
    ) {
        self.placement = placement
        places = Dictionary(uniqueKeysWithValues: placement.shards.map { ($0.number, $0.node) })
        self.configuration = configuration
        self.schema = schema
        self.lockClass = lockClass
        self.delegate = delegate
    }

    public func start() {
        follow(Set(placement.shards.map(\.node)))
        Reactor.every(Self.interval) { [weak self] in self?.look() }
    }

    /// Gives up a shard in whose name a batch could not be written, because it has moved or has another owner.
    public func giveUp(_ shard: Placement.Shard) {
        for node in nodes.values { node.owner.giveUp(shard.key) }
        // If it has moved, its new node says so already.
        look()
    }

    /// Between two phases of a move two nodes may say that they have a shard: the later one has it.
    private func giveUp(_ slot: Slot, except node: Node) {
        for other in nodes.values where other !== node && other.owner.epochs[slot] != nil {
            other.owner.giveUp(placement.shard(of: slot).key)
        }
    }

    /// Releases all shards, at the end of the process.
    public func drain() async {
        isDrained = true
        for node in nodes.values {
            await withUnsafeContinuation { continuation in node.owner.drain { continuation.resume() } }
        }
    }

    // MARK: Nodes

    private func follow(_ addresses: Set<NodeAddress>) {
        for address in addresses where nodes[address] == nil {
            let node = Node(address, self)
            nodes[address] = node
            node.connection.onUp { [weak self, weak node] in if let node { self?.look(at: node) } }
            node.connection.open()
        }
        // A node that is away, and that has no shards by what another one says, is not coming back.
        for (address, node) in nodes where !addresses.contains(address) && !node.connection.isUp {
            nodes[address] = nil
            // What it said last does not hold: its standby has the shards under another name.
            present[address] = nil
            node.connection.close()
        }
    }

    private func look() {
        guard !isDrained else { return }
        for node in nodes.values where node.connection.isUp { look(at: node) }
    }

    /// What a node has, and which nodes there are: by the metadata of this node.
    private static let shardQuery = """
        SELECT shardid FROM pg_dist_placement
        WHERE groupid = (SELECT groupid FROM pg_dist_local_group)
        AND shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'placement.slots'::regclass)
        """
    private static let nodeQuery = """
        SELECT DISTINCT nodename::text, nodeport::integer FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
        WHERE noderole = 'primary'
        AND shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'placement.slots'::regclass)
        """

    /// A shard has moved when another node has it, and the one that had it no longer says so.
    private func note(_ shards: Set<Int64>, on address: NodeAddress) {
        present[address] = shards
        for shard in placement.shards {
            guard let former = places[shard.number], present[former]?.contains(shard.number) != true,
                let node = present.first(where: { $0.value.contains(shard.number) })?.key, node != former
            else { continue }
            places[shard.number] = node
            onMoved(shard, node)
        }
    }

    private func look(at node: Node) {
        node.connection.submit {
            $0.execute(sql: Self.shardQuery)
            $0.execute(sql: Self.nodeQuery)
        } completion: { [weak self] outcome in
            guard let self, case .committed(let rows) = outcome, !isDrained else { return }
            let present = Set(rows[0].map { $0[0] as Int64 })
            node.owner.setShards(placement.shards.filter { present.contains($0.number) })
            note(present, on: node.address)
            follow(Set(rows[1].map { NodeAddress(host: $0[0], port: $0[1]) }))
        }
    }
}

/// Receives the changes in which shards this process owns, slot by slot.
@Reactor
public protocol ShardOwnersDelegate: AnyObject {
    /// As of `SlotOwnerDelegate`. All slots of a shard are acquired at once, on the node that has them.
    func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress)
    func lost(_ slot: Slot)
    func ended(session: Int32)
}
