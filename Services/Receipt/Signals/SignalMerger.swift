import Models
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
/// What has passed is ready, and stands by its conversation until a batch takes it: a batch takes whole conversations, the
/// one that waits longest first, because much of what a signal costs its conversation costs only once.
///
/// Pure: time is a parameter. What it holds is bounded by the requests in flight (`InboundRequests.capacity` in `Bus`).
struct SignalMerger {
    enum Admission { case accepted, alreadyCommitted }

    private let window: Duration
    private var open: [HorizonKey: Window] = [:]
    /// The ends of the open windows. They all have the same length, so the order of their opening is that of their ends.
    private var ends = FIFO<WindowEnd>()
    /// What may go to the database, each key once.
    private var ready: [ConversationID: ReadySignals] = [:]
    /// The conversations of `ready`, the one that waits longest first.
    private var order = FIFO<ConversationID>()
    /// Where a key stands among the signals of its conversation, those that were taken counted.
    private var places: [HorizonKey: Int] = [:]
    private(set) var readyCount = 0

    fileprivate struct ReadySignals {
        let since: MonotonicTime
        var signals: [MergedSignal] = []
        /// How many were taken before those of `signals`.
        var takenCount = 0
    }

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
    /// Since when the first of those that are ready waits.
    var readySince: MonotonicTime? { order.first.map { ready[$0]!.since } }
    var isEmpty: Bool { ready.isEmpty && open.isEmpty }

    mutating func add(_ signal: MergedSignal, at now: MonotonicTime) -> Admission {
        guard var window = open[signal.key] else {
            makeReady(signal, at: now)
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
            makeReady(waiting, at: now)
            openWindow(end.key, at: now)
        }
    }

    /// Takes up to `limit` signals that are ready, those of a conversation side by side. A conversation is cut only when it
    /// has more than that alone.
    mutating func takeReady(_ limit: Int) -> [MergedSignal] {
        var taken: [MergedSignal] = []
        while let conversation = order.first {
            let count = ready[conversation]!.signals.count
            guard taken.isEmpty || taken.count + count <= limit else { break }
            taken += take(min(count, limit), of: conversation)
            if ready[conversation] == nil { _ = order.popFirst() }
        }
        return taken
    }

    private mutating func take(_ count: Int, of conversation: ConversationID) -> ArraySlice<MergedSignal> {
        var waiting = ready.removeValue(forKey: conversation)!
        let taken = waiting.signals.prefix(count)
        for signal in taken { places[signal.key] = nil }
        readyCount -= count
        if count < waiting.signals.count {
            waiting.signals.removeFirst(count)
            waiting.takenCount += count
            ready[conversation] = waiting
        }
        return taken
    }

    /// Takes everything, windows included, each key once, those of a conversation side by side.
    mutating func takeAll(at now: MonotonicTime) -> [MergedSignal] {
        for waiting in open.values.compactMap(\.waiting) { makeReady(waiting, at: now) }
        defer { self = SignalMerger(window: window) }
        return takeReady(.max)
    }

    /// Learns that these horizons are in the database. What was asked for may be more, and has to be asked again then: a
    /// signal beyond the end of its conversation is cut to it.
    mutating func committed(_ key: HorizonKey, _ horizons: Horizons) { open[key]?.committed.merge(horizons) }

    private mutating func makeReady(_ signal: MergedSignal, at now: MonotonicTime) {
        let conversation = signal.key.conversation
        if let place = places[signal.key] {
            ready[conversation]!.merge(signal, at: place)
        } else {
            if ready[conversation] == nil {
                ready[conversation] = ReadySignals(since: now)
                order.append(conversation)
            }
            places[signal.key] = ready[conversation]!.append(signal)
            readyCount += 1
        }
    }

    private mutating func openWindow(_ key: HorizonKey, at now: MonotonicTime) {
        open[key] = Window()
        ends.append(WindowEnd(key: key, time: now + window))
    }
}

extension SignalMerger.ReadySignals {
    fileprivate mutating func merge(_ signal: MergedSignal, at place: Int) { signals[place - takenCount].merge(signal) }

    /// Returns its place.
    fileprivate mutating func append(_ signal: MergedSignal) -> Int {
        signals.append(signal)
        return takenCount + signals.count - 1
    }
}

extension MergedSignal? {
    fileprivate mutating func merge(_ signal: MergedSignal) {
        if self == nil { self = signal } else { self?.merge(signal) }
    }
}
