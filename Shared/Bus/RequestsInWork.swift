import Wire

/// The requests this process is working on, so that their repetitions are dropped meanwhile. A repetition that arrives
/// after the answer is worked on again, which is why every command is safe to repeat.
struct RequestsInWork {
    /// Requests worked on at once. Beyond it the answer is overload.
    static let capacity = 65_536

    private var keys: Set<RequestKey> = []

    var count: Int { keys.count }

    mutating func begin(_ request: RequestKey) -> Admission {
        guard keys.count < Self.capacity else { return keys.contains(request) ? .alreadyInWork : .full }
        return keys.insert(request).inserted ? .new : .alreadyInWork
    }

    mutating func end(_ request: RequestKey) { keys.remove(request) }
}

/// Whether a request that arrived is to be worked on.
public enum Admission {
    /// Yes, until `Bus.answer`.
    case new
    /// No: it is a repetition of one in work, whose answer serves both.
    case alreadyInWork
    /// No: too many are. Answer with overload, or leave it to the repetition.
    case full
}
