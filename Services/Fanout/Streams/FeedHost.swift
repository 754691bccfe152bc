import Reactor
import Wire

/// The result of a fetch.
struct Page<Entry> {
    var entries: [Entry] = []
    /// The stream's last position when the page was read.
    var last: Int64 = 0
    /// Requested entries up to this position are no longer kept; nil: nothing is lost.
    var lostThrough: Int64?
}

/// Owns a feed and carries out its effects: wait, fetch, send.
@Reactor
protocol FeedHost: AnyObject {
    associatedtype Entry: StreamEntry where Entry.Subscriber == Session

    var feed: Feed<Entry> { get set }
    var key: StreamKey { get }
    var fetches: FetchQueue { get }
    var counters: Counters { get }
    var turns: Turns { get }

    /// Sends an entry to a session. It must not use the feed.
    func deliver(_ entry: Entry, to session: Session)
    /// Handles an entry that concerns the host, in stream order.
    func passed(_ entry: Entry)
    /// Handles a session that has everything it may see.
    func ended(_ session: Session)
    /// Handles a session whose next entry is no longer kept. It was removed from the feed.
    func lost(_ session: Session)
    /// Runs `body` after the received bus frames that might fill a gap were handled.
    func afterBacklog(_ body: @escaping @Reactor () -> Void)
    /// Fetches the entries after `after` and up to `through`, or a first part of them; nil when that failed.
    /// Messages are as of `asOf` at the latest.
    func fetch(after: Int64, through: Int64, asOf: Int64, then: @escaping @Reactor (Page<Entry>?) -> Void)
}

extension FeedHost {
    func announce(_ entry: Entry) { perform(feed.announce(entry) { deliver($0, to: $1) }) }

    func learn(_ position: Int64) { perform(feed.learn(position)) }

    func add(_ session: Session, after position: Int64, _ stays: Stays, isNew: Bool = false) {
        perform(feed.add(session, after: position, stays, isNew: isNew) { deliver($0, to: $1) })
    }

    /// Ends what a session may see at a position that no change tells of.
    func cut(_ session: Session, through position: Int64) {
        perform(feed.cut(session, through: position) { deliver($0, to: $1) })
    }

    func passed(_ entry: Entry) {}

    func lost(_: Session) {}

    func afterBacklog(_ body: @escaping @Reactor () -> Void) { body() }

    private func perform(_ work: Feed<Entry>.Work) {
        for entry in work.passed { passed(entry) }
        if let delay = work.repairIn { Reactor.after(delay) { [weak self] in self?.planRepair() } }
        if work.hasMore { turns.run { [weak self] in self?.handOutNext() ?? false } }
        for fetch in work.fetches { catchUp(fetch) }
        for session in work.stalled { resumeLater(session) }
        for session in work.ended { ended(session) }
    }

    // MARK: All subscribers

    private func handOutNext() -> Bool {
        turns.spend(feed.liveCount / 16)
        perform(feed.handOutNext { deliver($0, to: $1) })
        return feed.isHandingOut
    }

    /// Entries in the backlog are not missing: fetching them would add load to a process that has too much.
    private func planRepair() { afterBacklog { [weak self] in self?.repair() } }

    private func repair() {
        guard let (after, through) = feed.beginRepair() else { return }
        counters.gaps += 1
        fetches.run(in: key) { [self] done in
            fetch(after: after, through: through, asOf: .max) { [self] page in
                done()
                if let page, !page.entries.isEmpty { counters.repairs += 1 }
                let page = page ?? Page()
                for session in feed.skip(through: page.lostThrough ?? 0) { lost(session) }
                perform(feed.repaired(page.entries, last: page.last))
            }
        }
    }

    // MARK: One session

    private func catchUp(_ range: Feed<Entry>.Fetch) {
        let session = range.subscriber
        session.fetch { [weak self] sessionDone in
            guard let self else { return sessionDone() }
            fetches.run(for: session) { [weak self] done in
                guard let self else {
                    sessionDone()
                    return done()
                }
                fetch(after: range.after, through: range.through, asOf: range.asOf) { [weak self] page in
                    done()
                    self?.caughtUp(session, page)
                    sessionDone()
                }
            }
        }
    }

    private func caughtUp(_ session: Session, _ page: Page<Entry>?) {
        guard let page else { return perform(feed.fetchFailed(for: session)) }
        counters.catchUpPages += 1
        guard page.lostThrough == nil else {
            feed.remove(session)
            return lost(session)
        }
        perform(feed.fetched(page.entries, for: session) { deliver($0, to: $1) })
    }

    private func resumeLater(_ session: Session) {
        Reactor.after(DenseStream<Entry>.retryDelay) { [weak self] in
            guard let self, !session.hasEnded else { return }
            perform(feed.resume(session) { deliver($0, to: $1) })
        }
    }
}
