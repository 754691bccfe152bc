import Reactor

/// What is known of the addresses that clients connect from: how many connections each has open, and how often it
/// brought no valid token lately.
///
/// Its memory is bounded: an address is kept while it has a connection, and of those that failed only the latest.
struct AddressTable {
    private struct Entry {
        var connections = 0
        var failures = 0
    }

    /// When the failures of an address began to be counted, in sweeps.
    private struct Count {
        let address: IPAddress
        let since: UInt32
    }

    private let connectionLimit: Int
    private let failureLimit: Int
    /// In sweeps, for how long failures are counted before all of an address are forgotten.
    private let window: UInt32
    private var entries: [IPAddress: Entry] = [:]
    /// Those that have failures, oldest first.
    private var counts = FIFO<Count>()

    private static let countsKept = 16_384

    init(connectionLimit: Int, failureLimit: Int, window: UInt32) {
        self.connectionLimit = connectionLimit
        self.failureLimit = failureLimit
        self.window = window
    }

    /// How many addresses are kept.
    var count: Int { entries.count }

    /// False when the address has its full number of connections.
    mutating func open(_ address: IPAddress) -> Bool {
        guard entries[address, default: Entry()].connections < connectionLimit else { return false }
        entries[address, default: Entry()].connections += 1
        return true
    }

    mutating func close(_ address: IPAddress) {
        entries[address]?.connections -= 1
        removeIfEmpty(address)
    }

    /// Somebody there asked for something without a valid token.
    mutating func failed(_ address: IPAddress, at sweep: UInt32) {
        forget(at: sweep)
        if entries[address, default: Entry()].failures == 0 { counts.append(Count(address: address, since: sweep)) }
        entries[address, default: Entry()].failures += 1
    }

    /// Whether no more attempts are taken from there for the moment.
    mutating func isDistrusted(_ address: IPAddress, at sweep: UInt32) -> Bool {
        forget(at: sweep)
        return (entries[address]?.failures ?? 0) >= failureLimit
    }

    private mutating func forget(at sweep: UInt32) {
        while let oldest = counts.first, sweep &- oldest.since >= window || counts.count > Self.countsKept {
            _ = counts.popFirst()
            entries[oldest.address]?.failures = 0
            removeIfEmpty(oldest.address)
        }
    }

    private mutating func removeIfEmpty(_ address: IPAddress) {
        if let entry = entries[address], entry.connections <= 0, entry.failures == 0 { entries[address] = nil }
    }
}
