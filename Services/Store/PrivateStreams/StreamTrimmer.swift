import Models
import Postgres
import Reactor

/// Removes from private streams what is behind the changes that are kept (`PrivateTail`).
///
/// One user at a time, some hundred rows at a time, with a rest behind each, on a connection on which no message waits.
/// Nothing is remembered elsewhere: what a store that died had still to remove goes with what comes next.
@Reactor
final class StreamTrimmer {
    /// Changes of a stream between two removals.
    private static let step: Int64 = 128
    /// Users who wait. What is beyond it goes `step` changes later.
    static let capacity = 16_384
    /// A quarter of the time at most.
    private static let restFactor = 3

    private let connection: Connection
    private var waiting = FIFO<UserID>()
    private var ends: [UserID: Int64] = [:]
    private var isRunning = false
    private(set) var trimmed = 0

    init(_ connection: Connection) {
        self.connection = connection
        connection.onUp { [unowned self] in run() }
    }

    var waitingCount: Int { ends.count }

    /// The stream of a user has got to `useq`.
    func moved(_ user: UserID, to useq: Int64) {
        guard useq > PrivateTail.kept, useq % Self.step == 0 else { return }
        let end = useq - PrivateTail.kept
        if let known = ends[user] {
            ends[user] = max(known, end)
        } else if ends.count < Self.capacity {
            ends[user] = end
            waiting.append(user)
            run()
        }
    }

    private func run() {
        guard !isRunning, connection.isUp, let user = waiting.popFirst(), let end = ends.removeValue(forKey: user)
        else { return }
        isRunning = true
        let begin = MonotonicTime.now
        connection.submit {
            Self.add(user, through: end, to: &$0)
        } completion: { [weak self] outcome in
            self?.finish(outcome, user, end, begin)
        }
    }

    private static func add(_ user: UserID, through end: Int64, to batch: inout Batch) {
        batch.execute(PrivateTail.trim) { parameters in
            parameters.add(user.slot)
            parameters.add(user)
            parameters.add(end)
            parameters.add(PrivateTail.rowsAtOnce)
        }
    }

    /// What failed goes with what comes next.
    private func finish(_ outcome: BatchOutcome, _ user: UserID, _ end: Int64, _ begin: MonotonicTime) {
        isRunning = false
        if case .committed(let rows) = outcome, let count: Int64 = rows[0].first?[0] {
            trimmed += Int(count)
            if count == PrivateTail.rowsAtOnce, ends[user] == nil {
                ends[user] = end
                waiting.append(user)
            }
        }
        Reactor.after((.now - begin) * Self.restFactor) { [weak self] in self?.run() }
    }
}
