/// Room for so many queries in work, and so many bytes of them, that no asker can take from the others: nobody gets more
/// of it than is still free.
///
/// So one alone may hold half of it, two a third each, and whoever has nothing in work finds room unless as many askers
/// hold one each as there is room for. A state machine without I/O.
struct SharedRoom {
    let limit: Int
    let byteLimit: Int
    private(set) var count = 0
    private(set) var bytes = 0
    private var held: [Asker: (count: Int, bytes: Int)] = [:]

    init(limit: Int, byteLimit: Int = .max) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// False when there is no room for it; then nothing has changed.
    mutating func enter(_ asker: Asker, bytes size: Int = 0) -> Bool {
        let own = held[asker] ?? (0, 0)
        guard own.count < limit - count, own.bytes + size <= byteLimit - bytes else { return false }
        held[asker] = (own.count + 1, own.bytes + size)
        count += 1
        bytes += size
        return true
    }

    /// What has entered, with the same size.
    mutating func leave(_ asker: Asker, bytes size: Int = 0) {
        guard let own = held[asker] else { preconditionFailure("who leaves has entered") }
        held[asker] = own.count == 1 ? nil : (own.count - 1, own.bytes - size)
        count -= 1
        bytes -= size
    }
}
