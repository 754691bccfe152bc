import Reactor

/// What the server requires of every open connection, HTTP or WebSocket.
@Reactor
protocol Connection: DescriptorHandler {
    /// Writes the output collected during the turn.
    func flush()
    /// Closes the connection when it is overdue.
    func checkTimeouts()
    /// Closes the connection as soon as nothing is outstanding.
    func drain()
    /// Closes the connection now.
    func close()
}

/// The open connections, and the number per address. A connection keeps its index, so removing one and visiting a range
/// cost the same for ten thousand connections as for ten.
struct ConnectionTable {
    struct Index { fileprivate let value: Int }

    private var entries: [(any Connection)?] = []
    /// For each index, the address its connection is counted for; nil where it is not counted.
    private var addresses: [IPAddress?] = []
    private var free: [Int] = []
    private var table: AddressTable

    init(_ table: AddressTable) { self.table = table }

    var count: Int { entries.count - free.count }
    var size: Int { entries.count }

    mutating func makeIndex() -> Index {
        if let value = free.popLast() { return Index(value: value) }
        entries.append(nil)
        addresses.append(nil)
        return Index(value: entries.count - 1)
    }

    mutating func replace(_ index: Index, with connection: any Connection) { entries[index.value] = connection }

    mutating func remove(_ index: Index) {
        if let address = addresses[index.value].take() { table.close(address) }
        entries[index.value] = nil
        free.append(index.value)
    }

    // MARK: Addresses

    /// Counts the connection for an address. Returns false when the address is at its limit.
    mutating func count(_ index: Index, for address: IPAddress) -> Bool {
        guard table.open(address) else { return false }
        addresses[index.value] = address
        return true
    }

    /// Counts a request without a valid token for the connection's address.
    mutating func failed(_ index: Index, at sweep: UInt32) {
        if let address = addresses[index.value] { table.failed(address, at: sweep) }
    }

    /// Whether further attempts from the connection's address are refused for now.
    mutating func isThrottled(_ index: Index, at sweep: UInt32) -> Bool {
        guard let address = addresses[index.value] else { return false }
        return table.isThrottled(address, at: sweep)
    }

    /// The connections in a range of indices.
    func connections(in range: Range<Int>) -> [any Connection] { entries[range].compactMap { $0 } }
}

/// The connections with output to write. They are flushed at the end of the turn, so many responses on one connection
/// take one system call.
///
/// A message to ten thousand connections is written over several turns, so that other connections do not wait for all
/// of them. Output that is added meanwhile takes the same call.
@Reactor
final class FlushQueue {
    /// The number of connections written to per turn: about 2 ms of work, at 5 to 10 µs a call. While more output is
    /// being added than is written, connections collect several frames for a call, which is what makes large rooms cheap.
    static let connectionsPerTurn = 256

    private var waiting = FIFO<any Connection>()
    /// Connections that are all written to in this turn, however many there are.
    private var urgent: [any Connection] = []
    private var isScheduled = false

    func add(_ connection: any Connection) {
        schedule()
        waiting.append(connection)
    }

    func addUrgent(_ connection: any Connection) {
        schedule()
        urgent.append(connection)
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        Reactor.atEndOfTurn { self.flush() }
    }

    private func flush() {
        isScheduled = false
        let connections = urgent
        urgent.removeAll(keepingCapacity: true)
        for connection in connections { connection.flush() }
        var left = Self.connectionsPerTurn
        while left > 0, let connection = waiting.popFirst() {
            connection.flush()
            left -= 1
        }
        if !waiting.isEmpty { schedule() }
    }
}
