/// Room for a limited number of queries in flight, and of their bytes, shared fairly: no requester gets more than is
/// still free.
///
/// So one requester alone may hold half of it, and two a third each. A requester with nothing in flight finds room,
/// unless as many requesters as there is room for hold one query each. A state machine without I/O.
struct SharedRoom {
    let limit: Int
    let byteLimit: Int
    private(set) var count = 0
    private(set) var bytes = 0
    private var held: [Requester: (count: Int, bytes: Int)] = [:]

    init(limit: Int, byteLimit: Int = .max) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Takes room for a query. Returns false, and changes nothing, if there is none.
    mutating func enter(_ requester: Requester, bytes size: Int = 0) -> Bool {
        let own = held[requester] ?? (0, 0)
        guard own.count < limit - count, own.bytes + size <= byteLimit - bytes else { return false }
        held[requester] = (own.count + 1, own.bytes + size)
        count += 1
        bytes += size
        return true
    }

    /// Gives back the room of a query that entered with the same size.
    mutating func leave(_ requester: Requester, bytes size: Int = 0) {
        guard let own = held[requester] else { preconditionFailure("who leaves has entered") }
        held[requester] = own.count == 1 ? nil : (own.count - 1, own.bytes - size)
        count -= 1
        bytes -= size
    }
}
