import Wire

/// The received requests that this process is serving. Their repetitions are dropped meanwhile. A repetition that
/// arrives after the response is processed again, which is why every command is safe to repeat.
struct InboundRequests {
    /// The most requests served at once. Further ones are refused as overload.
    static let capacity = 65_536

    private var keys: Set<RequestKey> = []

    var count: Int { keys.count }

    mutating func begin(_ request: RequestKey) -> Admission {
        guard keys.count < Self.capacity else { return keys.contains(request) ? .alreadyInFlight : .full }
        return keys.insert(request).inserted ? .new : .alreadyInFlight
    }

    mutating func end(_ request: RequestKey) { keys.remove(request) }
}

/// Whether to process a request that arrived.
public enum Admission {
    /// Process it. It stays in flight until `Bus.respond` or `Bus.abandon`.
    case new
    /// Drop it: it repeats a request in flight, whose response serves both.
    case alreadyInFlight
    /// Too many are in flight. Respond with overload, or drop it and leave it to its repetition.
    case full
}
