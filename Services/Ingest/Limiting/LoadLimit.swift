import Reactor

/// How much ingest takes on at a time. Beyond it a request is refused before anything is done for it, which costs less
/// than to let it wait for its deadline.
struct LoadLimit: Sendable {
    let requests: Int
    /// Of request bodies: a large one is kept until its answer, to be published again.
    let bytes: Int
    /// Of those, bodies that are still arriving: whoever is slow with them must leave room for whole ones.
    let arrivingBytes: Int
}

/// What is in flight, of all users.
@Reactor
final class Load {
    private let limit: LoadLimit
    private(set) var requests = 0
    private(set) var bytes = 0
    private(set) var arrivingBytes = 0

    nonisolated init(_ limit: LoadLimit) { self.limit = limit }

    /// Whether so many requests with bodies of this size together may still begin.
    func hasRoom(requests count: Int = 1, bytes size: Int) -> Bool {
        requests + count <= limit.requests && bytes + arrivingBytes + size <= limit.bytes
    }

    /// Whether so many more bytes of unfinished bodies can be kept.
    func hasRoom(arrivingBytes size: Int) -> Bool {
        arrivingBytes + size <= limit.arrivingBytes && bytes + arrivingBytes + size <= limit.bytes
    }

    func arrived(bytes size: Int) { arrivingBytes += size }

    /// So many bytes are not arriving any more: they are all there, or given up.
    func endedArriving(bytes size: Int) {
        arrivingBytes -= size
        precondition(arrivingBytes >= 0, "what ends has arrived")
    }

    /// Takes a request in, which must `end` with the same size.
    func begin(bytes size: Int) {
        requests += 1
        bytes += size
    }

    func end(bytes size: Int) {
        requests -= 1
        bytes -= size
        precondition(requests >= 0 && bytes >= 0, "what ends has begun")
    }
}
