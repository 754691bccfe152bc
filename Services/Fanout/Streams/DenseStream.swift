/// One change of a stream with dense positions, ready to be sent.
protocol StreamEntry {
    associatedtype Subscriber: AnyObject
    var position: Int64 { get }
    /// Its size in memory, in bytes.
    var byteCount: Int { get }
    /// Returns whether this is the last entry that `subscriber` may see.
    func isLast(for subscriber: Subscriber) -> Bool
    /// Whether the host of the feed has to handle it (`FeedHost.passed`).
    var concernsHost: Bool { get }
}

extension StreamEntry {
    var concernsHost: Bool { false }
}

/// Orders the entries of a stream: each position once and none left out, whatever the bus loses, repeats or reorders.
struct DenseStream<Entry: StreamEntry> {
    /// The most early entries kept, which wait for those before them. Others are fetched later.
    static var earlyLimit: Int { 256 }
    static var earlyBytesLimit: Int { 1 << 20 }
    /// How long to wait for missing entries before fetching them.
    static var repairDelay: Duration { .milliseconds(10) }
    /// The pause after a fetch that returned nothing new.
    static var retryDelay: Duration { .seconds(1) }

    enum Announcement: Equatable {
        /// The next entry: deliver it, then whatever `takeNext` returns.
        case next
        /// Kept until the entries before it are there.
        case early
        case old
    }

    private enum Repair: Equatable { case none, planned, asked(after: Int64) }

    /// Everything up to this position has been delivered.
    private(set) var last: Int64
    /// Everything up to this position exists.
    private var known: Int64
    private var early: [Int64: Entry] = [:]
    private var earlyBytes = 0
    private var repair = Repair.none

    init(last: Int64) {
        self.last = last
        known = last
    }

    /// Whether the next entry is here and waits for `takeNext`.
    var hasNext: Bool { !early.isEmpty && early[last + 1] != nil }

    /// Whether entries are missing.
    private var isBehind: Bool { known > last && !hasNext }

    mutating func announce(_ entry: Entry) -> Announcement {
        guard entry.position > last else { return .old }
        known = max(known, entry.position)
        if entry.position == last + 1, !hasNext {
            last += 1
            return .next
        }
        keep(entry)
        return .early
    }

    /// Adds fetched entries for `takeNext`. Their number is bounded by the fetch.
    mutating func fill(_ entries: [Entry]) {
        for entry in entries where entry.position > last {
            known = max(known, entry.position)
            insert(entry)
        }
    }

    private mutating func keep(_ entry: Entry) {
        guard early.count < Self.earlyLimit, earlyBytes + entry.byteCount <= Self.earlyBytesLimit else { return }
        insert(entry)
    }

    private mutating func insert(_ entry: Entry) {
        if early.updateValue(entry, forKey: entry.position) == nil { earlyBytes += entry.byteCount }
    }

    /// Removes and returns the next entry, if it is here.
    mutating func takeNext() -> Entry? {
        guard !early.isEmpty else { return nil }
        guard let entry = early.removeValue(forKey: last + 1) else { return nil }
        earlyBytes -= entry.byteCount
        last += 1
        return entry
    }

    /// Records that everything up to `position` exists.
    mutating func learn(_ position: Int64) { known = max(known, position) }

    /// Skips entries up to `position` that no longer exist.
    mutating func skip(through position: Int64) {
        last = max(last, position)
        known = max(known, last)
        forgetOld()
    }

    private mutating func forgetOld() {
        early = early.filter { $0.key > last }
        earlyBytes = early.values.reduce(0) { $0 + $1.byteCount }
    }

    /// Returns the delay until `beginRepair`; nil when nothing is missing, or a repair is planned already.
    mutating func planRepair(after delay: Duration = Self.repairDelay) -> Duration? {
        guard isBehind, repair == .none else { return nil }
        repair = .planned
        return delay
    }

    /// Begins the planned repair. Returns the range to fetch; nil when nothing is missing any more.
    mutating func beginRepair() -> (after: Int64, through: Int64)? {
        guard repair == .planned else { return nil }
        guard isBehind else {
            repair = .none
            return nil
        }
        repair = .asked(after: last)
        forgetOld()
        return (last, (early.keys.min() ?? known + 1) - 1)
    }

    /// Ends a repair after its entries were added. Returns the delay until the next one: zero when the stream advanced
    /// and is still behind, a pause when it did not, nil when it is complete or has the next entry.
    mutating func endRepair() -> Duration? {
        guard case .asked(let after) = repair else { return nil }
        repair = .none
        return planRepair(after: last > after ? .zero : Self.retryDelay)
    }
}
