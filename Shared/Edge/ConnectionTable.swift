import Reactor

/// What the server asks of every open connection, HTTP or WebSocket.
@Reactor
protocol Connection: DescriptorHandler {
    /// Writes what the turn collected.
    func flush()
    /// Closes the connection when it is overdue.
    func checkTimeouts()
    /// Ends the connection as soon as nothing is outstanding.
    func drain()
    /// Ends the connection now.
    func close()
}

/// The open connections, and how many there are of each address. Each keeps its place, so that leaving and looking at
/// some at a time cost the same for ten thousand as for ten.
struct ConnectionTable {
    struct Place { fileprivate let index: Int }

    private var entries: [(any Connection)?] = []
    /// Of each place, the address its connection counts for; nil where nobody counts.
    private var addresses: [IPAddress?] = []
    private var free: [Int] = []
    private var table: AddressTable

    init(_ table: AddressTable) { self.table = table }

    var count: Int { entries.count - free.count }
    var size: Int { entries.count }

    mutating func makePlace() -> Place {
        if let index = free.popLast() { return Place(index: index) }
        entries.append(nil)
        addresses.append(nil)
        return Place(index: entries.count - 1)
    }

    mutating func replace(_ place: Place, with connection: any Connection) { entries[place.index] = connection }

    mutating func remove(_ place: Place) {
        if let address = addresses[place.index].take() { table.close(address) }
        entries[place.index] = nil
        free.append(place.index)
    }

    // MARK: Addresses

    /// Counts the connection at `place` for an address; false when that has its full number.
    mutating func count(_ place: Place, for address: IPAddress) -> Bool {
        guard table.open(address) else { return false }
        addresses[place.index] = address
        return true
    }

    /// Notes that the connection at `place` brought no valid token.
    mutating func failed(_ place: Place, at sweep: UInt32) {
        if let address = addresses[place.index] { table.failed(address, at: sweep) }
    }

    /// Whether no more attempts are taken from where the connection at `place` comes from.
    mutating func isDistrusted(_ place: Place, at sweep: UInt32) -> Bool {
        guard let address = addresses[place.index] else { return false }
        return table.isDistrusted(address, at: sweep)
    }

    /// The connections in a range of places.
    func connections(in range: Range<Int>) -> [any Connection] { entries[range].compactMap { $0 } }
}

/// The connections with something to write, until the end of the turn: many answers to one connection leave by one
/// system call.
///
/// When one message goes to ten thousand, they are written to over several turns, so that nobody else waits for all of
/// them; what comes for them meanwhile leaves by the same call.
@Reactor
final class FlushQueue {
    /// Connections written to in a turn: about two milliseconds' work.
    static let portion = 1_024

    private var waiting = FIFO<any Connection>()
    /// Those that are written to in this turn, however many there are.
    private var urgent: [any Connection] = []
    private var isPlanned = false

    func add(_ connection: any Connection) {
        plan()
        waiting.append(connection)
    }

    func addUrgent(_ connection: any Connection) {
        plan()
        urgent.append(connection)
    }

    private func plan() {
        guard !isPlanned else { return }
        isPlanned = true
        Reactor.atEndOfTurn { self.flush() }
    }

    private func flush() {
        isPlanned = false
        let connections = urgent
        urgent.removeAll(keepingCapacity: true)
        for connection in connections { connection.flush() }
        var left = Self.portion
        while left > 0, let connection = waiting.popFirst() {
            connection.flush()
            left -= 1
        }
        if !waiting.isEmpty { plan() }
    }
}
