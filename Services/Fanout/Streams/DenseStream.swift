/// One change in a stream whose positions are dense, ready to be sent.
protocol StreamEntry {
    associatedtype Subscriber: AnyObject
    var position: Int64 { get }
    /// How much memory it takes.
    var byteCount: Int { get }
    /// Whether `subscriber` may see nothing behind this entry.
    func isLast(for subscriber: Subscriber) -> Bool
    /// Whether the owner of the feed has to know of it (`FeedHost.passed`).
    var concernsHost: Bool { get }
}

extension StreamEntry {
    var concernsHost: Bool { false }
}

/// Puts the entries of a stream in order: each position once, none left out, whatever the bus loses, repeats or
/// reorders.
struct DenseStream<Entry: StreamEntry> {
    /// Entries that came early and wait for those before them. What comes beyond is fetched later.
    static var earlyLimit: Int { 256 }
    static var earlyBytesLimit: Int { 1 << 20 }
    /// How long what is missing may still come by itself.
    static var patience: Duration { .milliseconds(10) }
    /// Before asking again when the answer brought nothing.
    static var pause: Duration { .seconds(1) }

    enum Announcement: Equatable {
        /// The next one: to be delivered, and then whatever `takeNext` gives.
        case next
        /// Kept until those before it are there.
        case early
        case old
    }

    private enum Repair: Equatable { case none, planned, asked(after: Int64) }

    /// Everything up to here has been delivered.
    private(set) var last: Int64
    /// Everything up to here exists.
    private var known: Int64
    private var early: [Int64: Entry] = [:]
    private var earlyBytes = 0
    private var repair = Repair.none

    init(last: Int64) {
        self.last = last
        known = last
    }

    /// Whether the next entry is here, and waits for `takeNext`.
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

    /// Takes in what a fetch brought, which has a bound of its own, for `takeNext`.
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

    /// The entry behind the one delivered last, if it is here.
    mutating func takeNext() -> Entry? {
        guard !early.isEmpty else { return nil }
        guard let entry = early.removeValue(forKey: last + 1) else { return nil }
        earlyBytes -= entry.byteCount
        last += 1
        return entry
    }

    /// Takes in that everything up to `position` exists.
    mutating func learn(_ position: Int64) { known = max(known, position) }

    /// Takes in that what is missing up to `position` cannot be had any more.
    mutating func skip(through position: Int64) {
        last = max(last, position)
        known = max(known, last)
        forgetOld()
    }

    private mutating func forgetOld() {
        early = early.filter { $0.key > last }
        earlyBytes = early.values.reduce(0) { $0 + $1.byteCount }
    }

    /// When to look whether entries are still missing; nil when none are, or it is planned already.
    mutating func planRepair(after delay: Duration = Self.patience) -> Duration? {
        guard isBehind, repair == .none else { return nil }
        repair = .planned
        return delay
    }

    /// What to fetch now that the patience is over.
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

    /// The fetch has ended, well or badly, and what it brought has been taken in. Returns when to look again: at once when
    /// the stream moved on and is still behind, after a pause when it did not. Nil while it has what is next.
    mutating func endRepair() -> Duration? {
        guard case .asked(let after) = repair else { return nil }
        repair = .none
        return planRepair(after: last > after ? .zero : Self.pause)
    }
}
