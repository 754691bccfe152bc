import Models
import Postgres
import Reactor
import Wire

/// Where a node is: its group, as Citus numbers it, and the lowest transaction that is still running there.
struct NodePosition {
    static let statement = Statement(
        "node_position",
        """
        SELECT groupid, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS transaction FROM pg_dist_local_group
        """)

    let group: Int32
    let transaction: Int64

    init(group: Int32, transaction: Int64) {
        self.group = group
        self.transaction = transaction
    }

    init(_ row: Row) { self.init(group: row[0], transaction: row[1]) }
}

/// A round of `sync` on several nodes, each of which numbers its transactions by itself.
///
/// The cursor has a number for each node in which the user has conversations, read before their contents. What moves to another
/// node is written there anew, so it is newer than the number of that node; from a node that the cursor does not know everything
/// is due. Within a round the numbers of its first page stay, and nodes that come in meanwhile are not noted: the next round
/// begins there anew.
struct SyncRound: Sendable {
    /// Of the running task.
    @TaskLocal static var current: SyncRound?

    /// From which transaction on, by node.
    let since: [Int32: Int64]
    /// The node of each shard that has conversations of the user.
    let groups: [Int: Int32]
    /// The private stream's position from which on conversations are due that the user has come into; nil: all are due anyway.
    let after: Int64?

    init(_ nodes: SyncCursor.Nodes, groups: [Int: Int32]) {
        since = nodes.transactions.mapValues(\.since)
        self.groups = groups
        after = since.values.contains { $0 > 0 } ? nodes.useq : nil
    }

    /// The numbers for the next page, which may be the first one of a round.
    static func nodes(
        _ cursor: SyncCursor, _ positions: some Sequence<NodePosition>, isAnew: Bool = false
    ) -> SyncCursor.Nodes {
        var present: [Int32: Int64] = [:]
        for position in positions {
            present[position.group] = min(present[position.group] ?? .max, position.transaction)
        }
        let isFirst = cursor.after.uuid == .zero || isAnew
        let former = isAnew ? [:] : cursor.nodes?.transactions ?? [:]
        var transactions: [Int32: SyncCursor.Nodes.Transactions] = [:]
        if isFirst {
            for (group, transaction) in present {
                // Transaction numbers compare only within half their space.
                let since = former[group].map { transaction - $0.since > Queries.oldestTransaction ? 0 : $0.since } ?? 0
                transactions[group] = .init(since: since, next: transaction)
            }
        } else {
            transactions = former
        }
        return SyncCursor.Nodes(useq: isFirst ? cursor.useq : cursor.nodes?.useq ?? 0, transactions)
    }

    /// The numbers after the last page of a round.
    static func next(_ cursor: SyncCursor) -> SyncCursor.Nodes {
        SyncCursor.Nodes(
            useq: cursor.useq, (cursor.nodes?.transactions ?? [:]).mapValues { .init(since: $0.next, next: 0) })
    }
}

extension ShardReads {
    /// The positions of the nodes of all shards in which a user has conversations, by shard.
    func nodePositions(of user: UserID) async throws(DatabaseError) -> [Int: NodePosition] {
        let shards = try await shards(of: user)
        let rows = try await run(
            shards.map { Part(shard: $0, execution: Execution(NodePosition.statement, values: [])) }, .light,
            isSearch: false)
        var positions: [Int: NodePosition] = [:]
        for (shard, rows) in zip(shards, rows) {
            guard let row = rows.first else { throw .partIsAway("a node does not say where it is") }
            positions[shard] = NodePosition(row)
        }
        return positions
    }
}
