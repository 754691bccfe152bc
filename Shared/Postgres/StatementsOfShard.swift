import Reactor

/// The prepared statements of a session for one shard of Citus. A process has sessions for many shards, and each executes few
/// of its statements: so a statement is written for the shard and prepared when it is first executed, by a command in front of
/// that. Pure: what is sent comes in, what to send comes out.
struct StatementsOfShard {
    let shard: ShardNames
    private let users: UserRows
    /// As they are for the shard, by name.
    private var written: [String: Statement] = [:]
    private var preparations: [String: Preparation] = [:]
    /// The number of batches that were sent.
    private var batch = 0
    /// For each command that has no result yet, in order: the name of the statement that it prepares, if it does.
    private var commands = FIFO<String?>()

    private enum Preparation {
        /// By a command of this batch, which may fail before it: only what follows in the batch can count on it.
        case asked(batch: Int)
        case done
    }

    enum Execution { case prepared, preparedBefore, unprepared }

    init(_ shard: ShardNames, _ users: UserRows) {
        self.shard = shard
        self.users = users
    }

    /// The statement as it is for the shard.
    mutating func written(_ statement: Statement) -> Statement {
        if let known = written[statement.name] { return known }
        let new = shard.applied(to: statement, users)
        written[statement.name] = new
        return new
    }

    /// How the statement is to be executed now: as it is prepared, prepared right before, or parsed for this once.
    mutating func execution(of name: String) -> Execution {
        switch preparations[name] {
        case .done: return .prepared
        case .asked(let batch): return batch == self.batch ? .prepared : .unprepared
        case nil:
            preparations[name] = .asked(batch: batch)
            return .preparedBefore
        }
    }

    mutating func sent(preparing name: String?) { commands.append(name) }
    mutating func sentSync() { batch += 1 }

    /// The name of the statement that the command prepares whose result has arrived, if it does.
    mutating func received() -> String? { commands.popFirst() ?? nil }

    mutating func ended(preparing name: String, succeeded: Bool) { preparations[name] = succeeded ? .done : nil }
}
