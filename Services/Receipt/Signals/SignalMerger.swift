import Models
import Reactor
import Wire

/// Signals of one user in one conversation, merged into one for the database.
struct MergedSignal {
    let key: HorizonKey
    var horizons: Horizons
    /// The requests that get a response when it is committed.
    var requests: [RequestKey]

    mutating func merge(_ other: MergedSignal) {
        horizons.merge(other.horizons)
        requests += other.requests
    }
}

/// Merges signals per conversation and user. The first one passes at once and opens a window of fixed length. Signals
/// that arrive within it pass as one when it closes. Later signals never extend it, so none waits for more than one
/// window.
///
/// Signals that have passed are ready, and are kept by conversation until a batch takes them. A batch takes whole
/// conversations, the longest waiting first, because much of a signal's cost arises once per conversation.
///
/// Pure: time is a parameter. Its size is bounded by the requests in flight (`InboundRequests.capacity` in `Bus`).
struct SignalMerger {
    enum Admission { case accepted, alreadyCommitted }

    private let window: Duration
    private var open: [HorizonKey: Window] = [:]
    /// The ends of the open windows. All have the same length, so they end in the order in which they opened.
    private var ends = FIFO<WindowEnd>()
    /// Signals that may go to the database, each key once.
    private var ready: [ConversationID: ReadySignals] = [:]
    /// The conversations of `ready`, the longest waiting first.
    private var order = FIFO<ConversationID>()
    /// The index of a key among the signals of its conversation, counting those already taken.
    private var places: [HorizonKey: Int] = [:]
    private(set) var readyCount = 0

    fileprivate struct ReadySignals {
        let since: MonotonicTime
        var signals: [MergedSignal] = []
        /// The number of signals taken before those of `signals`.
        var takenCount = 0
    }

    private struct Window {
        var waiting: MergedSignal?
        /// The horizons known to be committed since the window opened.
        var committed = Horizons.none
    }

    private struct WindowEnd {
        let key: HorizonKey
        let time: MonotonicTime
    }

    init(window: Duration) { self.window = window }

    /// The time at which `closeWindows` is due next.
    var nextEnd: MonotonicTime? { ends.first?.time }
    /// The time since which the oldest ready signal has waited.
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

    /// Makes the signals of ended windows ready. Such a window is followed by the next; one without signals is
    /// forgotten.
    mutating func closeWindows(at now: MonotonicTime) {
        while let end = ends.first, end.time <= now {
            _ = ends.popFirst()
            guard let waiting = open.removeValue(forKey: end.key)?.waiting else { continue }
            makeReady(waiting, at: now)
            openWindow(end.key, at: now)
        }
    }

    /// Takes up to `limit` ready signals, those of a conversation adjacent. A conversation is split only if it alone
    /// has more than the limit.
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

    /// Takes everything, windows included, each key once, those of a conversation adjacent.
    mutating func takeAll(at now: MonotonicTime) -> [MergedSignal] {
        for waiting in open.values.compactMap(\.waiting) { makeReady(waiting, at: now) }
        defer { self = SignalMerger(window: window) }
        return takeReady(.max)
    }

    /// Notes that these horizons are in the database. The signal may have asked for more, which then has to be sent
    /// again: a signal beyond the end of its conversation is clamped to it.
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

    /// Returns its index.
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
