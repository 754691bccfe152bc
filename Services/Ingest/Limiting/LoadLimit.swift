/// How much ingest takes on at a time. Beyond it a request is refused before anything is done for it, which costs less
/// than to let it wait for its deadline.
struct LoadLimit: Sendable {
    let requests: Int
    /// Of request bodies: a large one is kept until its answer, to be published again.
    let bytes: Int
}

/// The requests in flight.
struct Load {
    private let limit: LoadLimit
    private(set) var requests = 0
    private(set) var bytes = 0

    init(_ limit: LoadLimit) { self.limit = limit }

    /// Whether a request with a body of this size may still begin.
    func hasRoom(bytes size: Int) -> Bool { requests < limit.requests && bytes + size <= limit.bytes }

    /// Takes a request in, which must `end` with the same size.
    mutating func begin(bytes size: Int) {
        requests += 1
        bytes += size
    }

    mutating func end(bytes size: Int) {
        requests -= 1
        bytes -= size
        precondition(requests >= 0 && bytes >= 0, "what ends has begun")
    }
}
