import Reactor

/// The counts and times of a run.
///
/// Rates count what happened within the window. Latencies cover what was due within it, whenever it came, so the
/// slowest are included even if the window had ended.
@Reactor
final class LoadMeter {
    /// The time from when a message was due to its acknowledgement.
    var sendToAck = Histogram()
    /// The time from when a message was due to its arrival at each session.
    var sendToReceive = Histogram()
    /// The time from a message's acknowledgement to its arrival at each session, or 0 if it arrived before.
    var fanoutLag = Histogram()
    /// The time from a receipt to the status frame that confirms it.
    var signalToStatus = Histogram()
    /// The time from a request other than a send to its response.
    var requests = Histogram()

    private(set) var counts = Counts()
    private var start: MonotonicTime?
    private var end: MonotonicTime?

    struct Counts: Sendable {
        var acknowledged = 0
        var deliveries = 0
        var signals = 0
        var statusFrames = 0
        var responses = 0
    }

    func begin() { start = .now }
    func finish() { end = .now }

    var seconds: Double {
        guard let start, let end else { return 0 }
        return (end - start).milliseconds / 1000
    }

    /// Whether something due at `time` belongs to the measurement.
    func covers(_ time: MonotonicTime) -> Bool {
        guard let start, time >= start else { return false }
        return end.map { time <= $0 } ?? true
    }

    private var isRunning: Bool { start != nil && end == nil }

    func acknowledged(dueAt due: MonotonicTime, at now: MonotonicTime) {
        if isRunning { counts.acknowledged += 1 }
        if covers(due) { sendToAck.record(nanoseconds: now.nanoseconds &- due.nanoseconds) }
    }

    /// - Parameter acknowledged: when the message was acknowledged, or nil before that.
    func delivered(dueAt due: MonotonicTime, acknowledged: MonotonicTime?, at now: MonotonicTime) {
        if isRunning { counts.deliveries += 1 }
        guard covers(due) else { return }
        sendToReceive.record(nanoseconds: now.nanoseconds &- due.nanoseconds)
        let since = acknowledged ?? now
        fanoutLag.record(nanoseconds: now > since ? now.nanoseconds - since.nanoseconds : 0)
    }

    func signalled() { if isRunning { counts.signals += 1 } }

    func confirmed(signalledAt sent: MonotonicTime, at now: MonotonicTime) {
        if covers(sent) { signalToStatus.record(nanoseconds: now.nanoseconds &- sent.nanoseconds) }
    }

    func gotStatus() { if isRunning { counts.statusFrames += 1 } }

    func answered(dueAt due: MonotonicTime, at now: MonotonicTime) {
        if isRunning { counts.responses += 1 }
        if covers(due) { requests.record(nanoseconds: now.nanoseconds &- due.nanoseconds) }
    }
}
