import Reactor

/// The limits on requests in flight of one process. Beyond them a request is refused before any work, which costs less
/// than letting it wait for its deadline.
struct LoadLimit: Sendable {
    let requests: Int
    /// Bytes of request bodies. A large body is held until its response, to be published again.
    let bytes: Int
    /// The part of `bytes` for incomplete bodies: slow clients must leave room for complete ones.
    let arrivingBytes: Int
}

/// The requests in flight of all users.
@Reactor
final class Load {
    let limit: LoadLimit
    private(set) var requests = 0
    private(set) var bytes = 0
    private(set) var arrivingBytes = 0

    nonisolated init(_ limit: LoadLimit) { self.limit = limit }

    /// Whether `count` more requests, with bodies of `size` bytes in all, may begin.
    func hasRoom(requests count: Int = 1, bytes size: Int) -> Bool {
        requests + count <= limit.requests && bytes + arrivingBytes + size <= limit.bytes
    }

    /// Whether `size` more bytes of incomplete bodies can be held.
    func hasRoom(arrivingBytes size: Int) -> Bool {
        arrivingBytes + size <= limit.arrivingBytes && bytes + arrivingBytes + size <= limit.bytes
    }

    func arrived(bytes size: Int) { arrivingBytes += size }

    /// Releases bytes of a body that is complete or abandoned.
    func endedArriving(bytes size: Int) {
        arrivingBytes -= size
        precondition(arrivingBytes >= 0, "released bytes were arriving")
    }

    /// Adds a request, which must `end` with the same size.
    func begin(bytes size: Int) {
        requests += 1
        bytes += size
    }

    func end(bytes size: Int) {
        requests -= 1
        bytes -= size
        precondition(requests >= 0 && bytes >= 0, "an ended request has begun")
    }
}
