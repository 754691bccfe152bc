import Reactor

/// Counts, per client address, the open connections and the recent requests without a valid token.
///
/// Memory is bounded: an address is kept while it has a connection. Of the addresses with failures only the latest
/// `countsKept` are kept.
struct AddressTable {
    private struct Entry {
        var connections = 0
        var failures = 0
    }

    /// The sweep in which counting an address's failures began.
    private struct Count {
        let address: IPAddress
        let since: UInt32
    }

    private let connectionLimit: Int
    private let failureLimit: Int
    /// How many sweeps an address's failures are counted for before they are reset.
    private let window: UInt32
    private var entries: [IPAddress: Entry] = [:]
    /// The addresses with failures, oldest first.
    private var counts = FIFO<Count>()

    private static let countsKept = 16_384

    init(connectionLimit: Int, failureLimit: Int, window: UInt32) {
        self.connectionLimit = connectionLimit
        self.failureLimit = failureLimit
        self.window = window
    }

    /// The number of addresses in the table.
    var count: Int { entries.count }

    /// Returns false when the address is at its connection limit.
    mutating func open(_ address: IPAddress) -> Bool {
        guard entries[address, default: Entry()].connections < connectionLimit else { return false }
        entries[address, default: Entry()].connections += 1
        return true
    }

    mutating func close(_ address: IPAddress) {
        entries[address]?.connections -= 1
        removeIfEmpty(address)
    }

    /// Counts a request without a valid token.
    mutating func failed(_ address: IPAddress, at sweep: UInt32) {
        forget(at: sweep)
        if entries[address, default: Entry()].failures == 0 { counts.append(Count(address: address, since: sweep)) }
        entries[address, default: Entry()].failures += 1
    }

    /// Whether the address is at its failure limit, so that further attempts are refused for now.
    mutating func isThrottled(_ address: IPAddress, at sweep: UInt32) -> Bool {
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
