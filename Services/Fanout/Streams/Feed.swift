/// A stream and its subscribers on this process. It decides which subscriber gets which entry when.
///
/// Almost all subscribers are *live*: they have every entry up to the stream's last one and use no memory but their
/// list entry. The others are *catching up*: each has its own position and fetches what it misses, page by page, until
/// it reaches the stream's last entry. Meanwhile the latest entries are kept, so that a busy stream does not outrun
/// them.
///
/// Pure: entries go out through the closure `deliver`, and other effects are returned as `Work`.
struct Feed<Entry: StreamEntry> {
    typealias Subscriber = Entry.Subscriber
    typealias Deliver = (Entry, Subscriber) -> Void

    /// The most entries and bytes kept while a subscriber is catching up.
    static var recentLimit: Int { 1024 }
    static var recentBytesLimit: Int { 1 << 20 }
    /// The most frames of early entries that one announcement sends along with its own.
    static var portion: Int { 8_192 }

    /// The effects that the host of the feed carries out.
    struct Work {
        /// Call `beginRepair` after this delay.
        var repairIn: Duration?
        /// Call `handOutNext` over several turns while `isHandingOut`.
        var hasMore = false
        /// Fetch for each subscriber, then call `fetched` or `fetchFailed`.
        var fetches: [Fetch] = []
        /// A fetch returned nothing new: call `resume` after `DenseStream.retryDelay`.
        var stalled: [Subscriber] = []
        /// Subscribers that have everything they may see, and were removed.
        var ended: [Subscriber] = []
        /// Entries that concern the host, each once and in order, independent of the subscribers.
        var passed: [Entry] = []
    }

    /// A fetch of the entries after `after` and up to `through`.
    struct Fetch {
        var subscriber: Subscriber
        var after: Int64
        var through: Int64
        /// The end of what the subscriber may see: messages are as of there.
        var asOf: Int64
    }

    private struct CatchUp {
        var subscriber: Subscriber
        var position: Int64
        var stays: Stays
        var isFetching = false
    }

    private enum Progress { case live, ended, waiting, fetch(Fetch) }

    private var stream: DenseStream<Entry>
    /// A table, because subscribers come and go by the thousand.
    private var live = IdentityTable<Subscriber>()
    private var catchUps = IdentityTable<CatchUp>()
    /// The subscribers of `catchUps` that need no fetch and wait for the next entry.
    private var waiting = IdentityTable<Subscriber>()
    /// The latest entries, contiguous up to the stream's last one.
    private var recent: ContiguousArray<Entry> = []
    private var recentBytes = 0
    /// Whether entries are being handed out one at a time.
    private(set) var isHandingOut = false

    init(last: Int64) { stream = DenseStream(last: last) }

    /// The position up to which live subscribers have everything.
    var last: Int64 { stream.last }
    var isEmpty: Bool { live.isEmpty && catchUps.isEmpty }
    var count: Int { live.count + catchUps.count }
    var liveCount: Int { live.count }
    var catchingUp: Int { catchUps.count }
    /// The most subscribers that a search visits, for tests.
    var searchLength: Int { live.searchLength + catchUps.searchLength }

    // MARK: Entries

    /// Adds an entry from the bus.
    mutating func announce(_ entry: Entry, _ deliver: Deliver) -> Work {
        var work = Work()
        take(entry, &work, deliver)
        finish(&work, deliver)
        return work
    }

    /// Records that everything up to `position` exists.
    mutating func learn(_ position: Int64) -> Work {
        stream.learn(position)
        var work = Work()
        work.repairIn = stream.planRepair()
        return work
    }

    /// Returns the range to fetch for all subscribers, after missing entries had their time to arrive.
    mutating func beginRepair() -> (after: Int64, through: Int64)? { stream.beginRepair() }

    /// Adds the entries of a repair, or a first part of them; none when the fetch failed.
    mutating func repaired(_ entries: [Entry], last: Int64) -> Work {
        var work = Work()
        stream.fill(entries)
        stream.learn(last)
        work.repairIn = stream.endRepair()
        planHandingOut(&work)
        return work
    }

    /// Delivers the next entry to all live subscribers.
    mutating func handOutNext(_ deliver: Deliver) -> Work {
        var work = Work()
        if let next = stream.takeNext() { pass(next, &work, deliver) }
        isHandingOut = stream.hasNext
        finish(&work, deliver)
        return work
    }

    private mutating func planHandingOut(_ work: inout Work) {
        guard stream.hasNext, !isHandingOut else { return }
        isHandingOut = true
        work.hasMore = true
    }

    /// Skips entries up to `position` that no longer exist. Returns the subscribers that miss them, which were removed.
    mutating func skip(through position: Int64) -> [Subscriber] {
        guard position > last else { return [] }
        let behind = catchUps.values.filter { $0.position < position }.map(\.subscriber)
        let missing = Array(live.values) + behind
        live.removeAll()
        for subscriber in behind {
            catchUps.remove(subscriber)
            waiting.remove(subscriber)
        }
        (recent, recentBytes) = ([], 0)
        stream.skip(through: position)
        return missing
    }

    private mutating func take(_ entry: Entry, _ work: inout Work, _ deliver: Deliver) {
        guard stream.announce(entry) == .next else { return }
        pass(entry, &work, deliver)
        var left = Self.portion / max(1, live.count)
        while left > 0, let next = stream.takeNext() {
            pass(next, &work, deliver)
            left -= 1
        }
    }

    /// Delivers the stream's next entry to all live subscribers.
    private mutating func pass(_ entry: Entry, _ work: inout Work, _ deliver: Deliver) {
        var left: [Subscriber] = []
        for subscriber in live.values {
            deliver(entry, subscriber)
            if entry.isLast(for: subscriber) { left.append(subscriber) }
        }
        for subscriber in left { live.remove(subscriber) }
        work.ended += left
        if !catchUps.isEmpty { remember(entry) }
        if entry.concernsHost { work.passed.append(entry) }
    }

    private mutating func remember(_ entry: Entry) {
        // Dropped by half, so that moving the rest takes amortised constant time.
        if recent.count == Self.recentLimit { forgetOlderHalf() }
        recent.append(entry)
        recentBytes += entry.byteCount
        while recentBytes > Self.recentBytesLimit { forgetOlderHalf() }
    }

    private mutating func forgetOlderHalf() {
        let older = recent.prefix((recent.count + 1) / 2)
        recentBytes -= older.reduce(0) { $0 + $1.byteCount }
        recent.removeFirst(older.count)
    }

    private mutating func finish(_ work: inout Work, _ deliver: Deliver) {
        planHandingOut(&work)
        planRepair(&work)
        if !waiting.isEmpty { advanceWaiting(&work, deliver) }
        forgetRecentIfUnused()
    }

    private mutating func planRepair(_ work: inout Work) {
        if work.repairIn == nil { work.repairIn = stream.planRepair() }
    }

    // MARK: Subscribers

    /// Adds a subscriber that has everything up to `position`. For one that is already here, `stays` has a new stay.
    /// `isNew` skips the search for it: ten thousand may come at once.
    mutating func add(
        _ subscriber: Subscriber, after position: Int64, _ stays: Stays, isNew: Bool = false, _ deliver: Deliver
    ) -> Work {
        var work = Work()
        if isNew {
            proceed(CatchUp(subscriber: subscriber, position: position, stays: stays), &work, deliver)
        } else if var catchUp = catchUps.remove(subscriber) {
            catchUp.stays.append(from: stays.latestStart)
            proceed(catchUp, &work, deliver)
        } else if live.contains(subscriber) {
            // A stay that began earlier is the one that the subscriber is in.
            guard stays.latestStart > last else { return Work() }
            live.remove(subscriber)
            var both = Stays.unlimited
            both.append(from: stays.latestStart)
            proceed(CatchUp(subscriber: subscriber, position: last, stays: both), &work, deliver)
        } else {
            proceed(CatchUp(subscriber: subscriber, position: position, stays: stays), &work, deliver)
        }
        planRepair(&work)
        return work
    }

    /// Ends what a subscriber may see at a position that no entry tells of. It gets what it lacks up to there.
    mutating func cut(_ subscriber: Subscriber, through position: Int64, _ deliver: Deliver) -> Work {
        var work = Work()
        if var catchUp = catchUps.remove(subscriber) {
            catchUp.stays.cut(through: position)
            proceed(catchUp, &work, deliver)
        } else if live.contains(subscriber) {
            live.remove(subscriber)
            var stays = Stays.unlimited
            stays.cut(through: position)
            proceed(CatchUp(subscriber: subscriber, position: last, stays: stays), &work, deliver)
        }
        forgetRecentIfUnused()
        return work
    }

    func forEachSubscriber(_ body: (Subscriber) -> Void) {
        live.values.forEach(body)
        for catchUp in catchUps.values { body(catchUp.subscriber) }
    }

    mutating func remove(_ subscriber: Subscriber) {
        live.remove(subscriber)
        catchUps.remove(subscriber)
        waiting.remove(subscriber)
        forgetRecentIfUnused()
    }

    // MARK: Catching up

    /// Adds the entries of a `Fetch`, or a first part of them.
    mutating func fetched(_ entries: [Entry], for subscriber: Subscriber, _ deliver: Deliver) -> Work {
        guard var catchUp = catchUps.remove(subscriber) else { return Work() }
        let before = catchUp.position
        for entry in entries { give(entry, to: &catchUp, deliver) }
        // Without progress the subscriber stays marked as fetching until `resume`.
        let hasStalled = catchUp.position == before && before < last
        catchUp.isFetching = hasStalled
        var work = Work()
        if hasStalled { work.stalled.append(subscriber) }
        proceed(catchUp, &work, deliver)
        finish(&work, deliver)
        return work
    }

    mutating func fetchFailed(for subscriber: Subscriber) -> Work {
        var work = Work()
        if catchUps.contains(subscriber) { work.stalled.append(subscriber) }
        return work
    }

    /// Continues a stalled subscriber after the pause.
    mutating func resume(_ subscriber: Subscriber, _ deliver: Deliver) -> Work {
        guard var catchUp = catchUps.remove(subscriber) else { return Work() }
        catchUp.isFetching = false
        var work = Work()
        proceed(catchUp, &work, deliver)
        finish(&work, deliver)
        return work
    }

    /// Advances only the subscribers that have the entry before; a new entry does not help those that fetch.
    private mutating func advanceWaiting(_ work: inout Work, _ deliver: Deliver) {
        let subscribers = Array(waiting.values)
        for subscriber in subscribers {
            if let catchUp = catchUps.remove(subscriber) { proceed(catchUp, &work, deliver) }
        }
    }

    /// Advances a subscriber, which is in none of the tables, as far as the kept entries go.
    private mutating func proceed(_ catchUp: CatchUp, _ work: inout Work, _ deliver: Deliver) {
        var catchUp = catchUp
        let subscriber = catchUp.subscriber
        waiting.remove(subscriber)
        switch advance(&catchUp, deliver) {
        case .live: live.append(subscriber)
        case .ended: work.ended.append(subscriber)
        case .waiting:
            catchUps.append(subscriber, catchUp)
            if !catchUp.isFetching { waiting.append(subscriber) }
        case .fetch(let fetch):
            catchUp.isFetching = true
            work.fetches.append(fetch)
            catchUps.append(subscriber, catchUp)
        }
    }

    private func advance(_ catchUp: inout CatchUp, _ deliver: Deliver) -> Progress {
        while true {
            guard let next = catchUp.stays.next(after: catchUp.position) else { return .ended }
            catchUp.position = next - 1  // Positions in between are not visible to this reader.
            guard let entry = recentEntry(at: next) else { break }
            give(entry, to: &catchUp, deliver)
        }
        // One with a known end stays here, for the entry at its end may not tell that it is one.
        if catchUp.position == last, catchUp.stays.latestStart <= last + 1, catchUp.stays.end == nil { return .live }
        if catchUp.position >= last || catchUp.isFetching { return .waiting }
        let end = catchUp.stays.end ?? .max
        return .fetch(
            Fetch(subscriber: catchUp.subscriber, after: catchUp.position, through: min(last, end), asOf: end))
    }

    private func give(_ entry: Entry, to catchUp: inout CatchUp, _ deliver: Deliver) {
        guard entry.position == catchUp.position + 1 else { return }
        catchUp.position = entry.position
        guard catchUp.stays.contains(entry.position) else { return }
        deliver(entry, catchUp.subscriber)
        if entry.isLast(for: catchUp.subscriber) { catchUp.stays.close(at: entry.position) }
    }

    private func recentEntry(at position: Int64) -> Entry? {
        guard let first = recent.first, position >= first.position, position <= last else { return nil }
        return recent[Int(position - first.position)]
    }

    private mutating func forgetRecentIfUnused() {
        if catchUps.isEmpty, !recent.isEmpty { (recent, recentBytes) = ([], 0) }
    }
}
