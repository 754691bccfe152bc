import Models
import Postgres
import Reactor
import Wire

/// Continues where `ConversationStatement` has stopped. It walks back through the blocks of a conversation, a few per
/// turn at a connection, until enough is found, and skips blocks that are known to be empty. For a bot that wrote a
/// million messages and read none, they are counted once. After that, a look at the newest of them is enough.
@Reactor
final class UnreadWalk {
    /// The number of blocks in one turn: a few thousand rows.
    private static let blocksPerTurn = 4
    /// The number of blocks in one request, over all its conversations. What was learnt is kept, so its repetition gets
    /// further.
    struct Budget {
        private var blocks = 4_096

        fileprivate mutating func take(_ count: Int) throws {
            blocks -= count
            guard blocks >= 0 else {
                throw Problem(.unavailable, "the messages are still being looked through: repeat the request")
            }
        }
    }

    private let connection: QueryConnections
    private var known = EmptyBlocks()
    /// The number of blocks that were read.
    private(set) var blocksRead = 0

    init(_ connection: QueryConnections) {
        self.connection = connection
        // The database that comes back may be a restored one.
        connection.onLoss { [weak self] in self?.known = EmptyBlocks() }
    }

    /// Finishes all walks.
    func finish(_ walks: inout [BlockWalk], for reader: UserID, _ budget: inout Budget) async throws {
        while true {
            let steps = steps(of: &walks)
            guard !steps.isEmpty else { return }
            try budget.take(steps.count)
            try await take(steps, &walks, reader)
        }
    }

    private typealias Steps = [(walk: Int, step: BlockWalk.Step)]

    private func steps(of walks: inout [BlockWalk]) -> Steps {
        var steps: Steps = []
        for index in walks.indices {
            while steps.count < Self.blocksPerTurn, let step = walks[index].step(past: &known) {
                steps.append((index, step))
            }
        }
        return steps
    }

    private func take(_ steps: Steps, _ walks: inout [BlockWalk], _ reader: UserID) async throws {
        blocksRead += steps.count
        let ranges = steps.map { (conversation: walks[$0.walk].conversation, seqs: $0.step.seqs) }
        let rows = try await connection.query(UnreadStatement.blocks, .heavy) { parameters, input in
            UnreadStatement.set(ranges, for: reader, of: input, in: &parameters)
        }
        let columns = UnreadStatement.blocks.columns
        for row in rows {
            let (index, step) = steps[Int(row[columns.place]) - 1]
            walks[index].found(Int(row[columns.count]), isEmpty: row[columns.isEmpty], in: step, &known)
        }
    }

    /// Returns how many unread messages of each conversation mention the reader.
    func mentions(in conversations: [ConversationFields], of reader: UserID) async throws -> [Int] {
        var counts = [Int](repeating: 0, count: conversations.count)
        for first in stride(from: 0, to: counts.count, by: UnreadStatement.mentioningRanges) {
            let part = conversations[first..<min(first + UnreadStatement.mentioningRanges, counts.count)]
            let ranges = part.map { (conversation: $0.id, seqs: $0.unreadSeqs) }
            let rows = try await connection.query(UnreadStatement.mentions, .heavy) { parameters, input in
                UnreadStatement.set(ranges, for: reader, of: input, in: &parameters)
            }
            let columns = UnreadStatement.mentions.columns
            for row in rows { counts[first + Int(row[columns.place]) - 1] = Int(row[columns.count]) }
        }
        return counts
    }

    /// Returns the position of the last message that the reader sees; nil if there is none.
    func latest(_ walk: BlockWalk, for reader: UserID, _ budget: inout Budget) async throws -> Int64? {
        var walk = walk
        while let step = walk.step(past: &known) {
            try budget.take(1)
            blocksRead += 1
            let rows = try await connection.query(UnreadStatement.latest, .heavy) { parameters, input in
                UnreadStatement.set([(walk.conversation, step.seqs)], for: reader, of: input, in: &parameters)
            }
            for row in rows { walk.found(row[UnreadStatement.latest.columns.seq], in: step, &known) }
        }
        return walk.latest
    }
}
