import Models
import ParleyStorage
import ParleySync
import Synchronization

/// Brings news to those who observe, and keeps what is not stored: the state of the connection, who is typing, who is
/// online.
final class Hub: Sendable {
    struct State {
        fileprivate var signals: [Int: WeakSignal] = [:]
        fileprivate var lastSignal = 0
        fileprivate var isFinished = false
        var connection = ConnectionState.off
        var typing: [ConversationID: Set<UserID>] = [:]
        var presence: [UserID: Presence] = [:]
        /// The latest problems that nobody has been told yet.
        var problems: [ParleyProblem] = []
    }

    fileprivate struct WeakSignal {
        weak var signal: Signal?
    }

    private let state = Mutex(State())
    private static let keptProblems = 16

    func read<Value>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }

    /// A signal for an observer, raised at once so that it begins with what is there.
    func signal(_ concerns: @escaping @Sendable (Topic) -> Bool) -> Signal {
        let signal = Signal { topic in topic == .view || topic == .everything || concerns(topic) }
        let isFinished = state.withLock { state in
            state.signals = state.signals.filter { $0.value.signal != nil }
            state.lastSignal += 1
            state.signals[state.lastSignal] = WeakSignal(signal: signal)
            return state.isFinished
        }
        signal.raise([.view])
        if isFinished { signal.finish() }
        return signal
    }

    func raise(_ topics: Set<Topic>) {
        guard !topics.isEmpty else { return }
        for signal in signals { signal.raise(topics) }
    }

    func finish() {
        let signals = signals
        state.withLock { $0.isFinished = true }
        for signal in signals { signal.finish() }
    }

    private var signals: [Signal] { state.withLock { $0.signals.values.compactMap(\.signal) } }

    // MARK: What is not stored

    func set(_ connection: ConnectionState) {
        let topics: Set<Topic> = state.withLock { state in
            guard state.connection != connection else { return [] }
            state.connection = connection
            guard connection != .online, !state.presence.isEmpty else { return [.connection] }
            // Without a connection nobody tells who goes.
            state.presence = [:]
            return [.connection, .presence]
        }
        raise(topics)
    }

    func set(_ presence: Presence, of user: UserID) {
        state.withLock { $0.presence[user] = presence }
        raise([.presence])
    }

    func setTyping(_ users: Set<UserID>, in id: ConversationID) {
        state.withLock { $0.typing[id] = users.isEmpty ? nil : users }
        raise([.typing(id)])
    }

    func report(_ problem: ParleyProblem) {
        state.withLock { state in
            state.problems.append(problem)
            if state.problems.count > Self.keptProblems { state.problems.removeFirst() }
        }
        raise([.problems])
    }

    func takeProblem() -> ParleyProblem? {
        state.withLock { $0.problems.isEmpty ? nil : $0.problems.removeFirst() }
    }
}

/// Whether a user is online.
public struct Presence: Hashable, Sendable {
    public var isOnline: Bool
    /// When the user was online last, if they share it.
    public var lastSeen: Timestamp?
}
