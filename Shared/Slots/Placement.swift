import Models
import Postgres

/// Where the slots of a database on Citus are: the shard that has each slot, the node that has each shard, and the names of
/// the shard's tables. Read from Citus's metadata, which every node has.
public struct Placement: Equatable, Sendable {
    /// A part of the slots, whose rows are on one node and move together. Its names stay when it moves.
    public struct Shard: Equatable, Sendable {
        /// Of `placement.slots`: the shards of all tables that are placed with it have numbers of their own.
        public let number: Int64
        public let slots: [Slot]
        public let node: NodeAddress
        public let names: ShardNames

        /// The slot that stands for all of them: a shard has one owner.
        public var key: Slot { slots[0] }
    }

    /// In the order of their lowest slots.
    public let shards: [Shard]
    private let indices: [Int]

    init(_ shards: [Shard]) throws(PlacementError) {
        self.shards = shards.sorted { $0.slots[0] < $1.slots[0] }
        var indices = [Int](repeating: -1, count: Slot.count)
        for (index, shard) in self.shards.enumerated() {
            for slot in shard.slots {
                guard indices[Int(slot.number)] == -1 else { throw .slotInTwoShards(slot) }
                indices[Int(slot.number)] = index
            }
        }
        if let missing = indices.firstIndex(of: -1) { throw .slotWithoutShard(Slot(UInt8(missing))) }
        self.indices = indices
    }

    /// The index in `shards` of the one that has this slot.
    public func index(of slot: Slot) -> Int { indices[Int(slot.number)] }

    public func shard(of slot: Slot) -> Shard { shards[index(of: slot)] }

    // MARK: Reading

    /// Nil unless the database is distributed.
    public init?(of database: BlockingConnection) throws {
        guard try database.isDistributed() else { return nil }
        try self.init(shards: try database.query(Self.shardQuery), names: try database.query(Self.nameQuery))
    }

    private init(shards: Rows, names: Rows) throws {
        var tables: [Int64?: [String: String]] = [:], users: Set<String> = []
        for row in names {
            tables[row[0] as Int64?, default: [:]][row[1]] = row[2] as String
            if row[3] as String? == "user_slot" { users.insert(row[1]) }
        }
        let everywhere = tables[nil] ?? [:]
        try self.init(
            shards.map { row in
                Shard(
                    number: row[0], slots: row.array(3),
                    node: NodeAddress(host: row[1], port: row[2]),
                    names: ShardNames(
                        tables: everywhere.merging(tables[row[0] as Int64] ?? [:]) { _, own in own },
                        users: users, everywhere: Set(everywhere.keys),
                        views: Publications.store + Publications.receipt))
            })
    }

    /// Each shard of `placement.slots`, its node and its slots.
    private static let shardQuery = """
        SELECT shardid, nodename::text, nodeport::integer, array_agg(slot::smallint ORDER BY slot)
        FROM generate_series(0, 255) slot
        JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('placement.slots', slot::smallint)
        JOIN pg_dist_node USING (groupid)
        WHERE noderole = 'primary'
        GROUP BY shardid, nodename, nodeport
        """

    /// The names of all tables and of their shards, each with the shard of `placement.slots` that it is placed with; NULL:
    /// every node has it. The last is the column by which the table is distributed.
    private static let nameQuery = """
        SELECT own.shardid, format('%I.%I', relnamespace::regnamespace, relname), shard_name(c.oid, s.shardid),
            CASE WHEN p.partmethod = 'h' THEN column_to_column_name(p.logicalrelid, p.partkey) END
        FROM pg_dist_partition p
        JOIN pg_class c ON c.oid = p.logicalrelid
        JOIN pg_dist_shard s ON s.logicalrelid = p.logicalrelid
        LEFT JOIN pg_dist_shard own ON own.logicalrelid = 'placement.slots'::regclass AND own.shardminvalue = s.shardminvalue
        WHERE p.partmethod = 'n' OR p.colocationid = (
            SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'placement.slots'::regclass)
        """
}

/// What is wrong with the metadata of a distributed database.
enum PlacementError: Error, CustomStringConvertible {
    case slotWithoutShard(Slot)
    case slotInTwoShards(Slot)

    var description: String {
        switch self {
        case .slotWithoutShard(let slot): "slot \(slot.number) is on no node"
        case .slotInTwoShards(let slot): "slot \(slot.number) is in two shards"
        }
    }
}
