import Reactor
import Wire

/// Signals of one user in one conversation that go to the database as one.
struct MergedSignal {
    let key: HorizonKey
    var horizons: Horizons
    /// The requests to be answered when it is committed.
    var requests: [RequestKey]

    mutating func merge(_ other: MergedSignal) {
        horizons.merge(other.horizons)
        requests += other.requests
    }
}

/// Merges signals per conversation and user: the first one passes at once and opens a window of fixed length, what
/// arrives within it goes as one when it closes. Later signals never make it longer, so nobody waits for more than one
/// window.
///
/// Pure: time is a parameter. What it holds is bounded by the requests in work (`RequestsInWork.capacity` in `Bus`).
struct SignalMerger {
    enum Admission { case accepted, alreadyCommitted }

    private let window: Duration
    private var open: [HorizonKey: Window] = [:]
    /// The ends of the open windows. They all have the same length, so the order of their opening is that of their ends.
    private var ends = FIFO<WindowEnd>()
    /// What may go to the database, each key once, in the order in which it became ready.
    private var ready: [MergedSignal] = []
    /// Where a key stands in `ready`, counted from the first signal that ever was ready.
    private var places: [HorizonKey: Int] = [:]
    private var takenCount = 0

    private struct Window {
        var waiting: MergedSignal?
        /// What is known to be committed since the window opened.
        var committed = Horizons.none
    }

    private struct WindowEnd {
        let key: HorizonKey
        let time: MonotonicTime
    }

    init(window: Duration) { self.window = window }

    /// When `closeWindows` has something to do next.
    var nextEnd: MonotonicTime? { ends.first?.time }
    var readyCount: Int { ready.count }
    var isEmpty: Bool { ready.isEmpty && open.isEmpty }

    mutating func add(_ signal: MergedSignal, at now: MonotonicTime) -> Admission {
        guard var window = open[signal.key] else {
            makeReady(signal)
            openWindow(signal.key, at: now)
            return .accepted
        }
        if window.committed.covers(signal.horizons) { return .alreadyCommitted }
        window.waiting.merge(signal)
        open[signal.key] = window
        return .accepted
    }

    /// Makes ready what waited in the windows that have ended. Such a window is followed by the next; one in which nothing
    /// arrived is forgotten.
    mutating func closeWindows(at now: MonotonicTime) {
        while let end = ends.first, end.time <= now {
            _ = ends.popFirst()
            guard let waiting = open.removeValue(forKey: end.key)?.waiting else { continue }
            makeReady(waiting)
            openWindow(end.key, at: now)
        }
    }

    /// Takes up to `limit` signals that are ready, the oldest first.
    mutating func takeReady(_ limit: Int) -> [MergedSignal] {
        let taken = Array(ready.prefix(limit))
        ready.removeFirst(taken.count)
        takenCount += taken.count
        if ready.isEmpty {
            places.removeAll(keepingCapacity: true)
        } else {
            for signal in taken { places[signal.key] = nil }
        }
        return taken
    }

    /// Takes everything, windows included, each key once.
    mutating func takeAll() -> [MergedSignal] {
        for waiting in open.values.compactMap(\.waiting) { makeReady(waiting) }
        defer { self = SignalMerger(window: window) }
        return ready
    }

    /// Learns that these horizons are in the database. What was asked for may be more, and has to be asked again then: a
    /// signal beyond the end of its conversation is cut to it.
    mutating func committed(_ key: HorizonKey, _ horizons: Horizons) { open[key]?.committed.merge(horizons) }

    private mutating func makeReady(_ signal: MergedSignal) {
        if let place = places[signal.key] {
            ready[place - takenCount].merge(signal)
        } else {
            places[signal.key] = takenCount + ready.count
            ready.append(signal)
        }
    }

    private mutating func openWindow(_ key: HorizonKey, at now: MonotonicTime) {
        open[key] = Window()
        ends.append(WindowEnd(key: key, time: now + window))
    }
}

extension MergedSignal? {
    fileprivate mutating func merge(_ signal: MergedSignal) {
        if self == nil { self = signal } else { self?.merge(signal) }
    }
}
