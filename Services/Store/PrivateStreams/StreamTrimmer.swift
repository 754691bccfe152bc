import Models
import Postgres
import Reactor

/// Removes changes from private streams that are older than the kept ones (`PrivateTail`).
///
/// It trims one user at a time, some hundred rows at a time, with a rest after each step, on a connection that carries
/// no messages. Its queue is only in memory: what a crashed store left over is removed at the stream's next trim.
@Reactor
final class StreamTrimmer {
    /// The maximum number of waiting users. Any further user is trimmed `PrivateTail.step` changes later.
    static let capacity = 16_384
    /// Limits trimming to a quarter of the time.
    private static let restFactor = 3

    private let connection: Connection
    /// Whether the streams of a slot are reached by the connection. Others are trimmed by who writes them (`Borrowing`).
    var reaches: @Reactor (Slot) -> Bool = { _ in true }
    private var waiting = FIFO<UserID>()
    private var ends: [UserID: Int64] = [:]
    private var isRunning = false
    private(set) var trimmed = 0

    init(_ connection: Connection) {
        self.connection = connection
        connection.onUp { [unowned self] in run() }
    }

    var waitingCount: Int { ends.count }

    /// Records that a user's stream has reached `useq`.
    func moved(_ user: UserID, to useq: Int64) {
        guard useq > PrivateTail.kept, useq % PrivateTail.step == 0, reaches(user.slot) else { return }
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
            PrivateTail.addTrim(of: user, through: end, to: &$0)
        } completion: { [weak self] outcome in
            self?.finish(outcome, user, end, begin)
        }
    }

    /// A failed trim is made up for by the next one.
    private func finish(_ outcome: BatchOutcome, _ user: UserID, _ end: Int64, _ begin: MonotonicTime) {
        isRunning = false
        if case .committed(let rows) = outcome {
            let count = PrivateTail.trimmedCount(rows[0])
            trimmed += Int(count)
            if count == PrivateTail.rowsAtOnce, ends[user] == nil {
                ends[user] = end
                waiting.append(user)
            }
        }
        Reactor.after((.now - begin) * Self.restFactor) { [weak self] in self?.run() }
    }
}
