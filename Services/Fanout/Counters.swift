import Reactor
import ServiceKit

/// What a fanout has done, for metrics.
@Reactor
final class Counters {
    /// Frames about streams handed to sessions.
    var deliveries = 0
    /// Holes in a stream that did not close by themselves.
    var gaps = 0
    /// Fetches that brought something missing, for all sessions of a stream.
    var repairs = 0
    /// Pages fetched for sessions that catch up.
    var catchUpPages = 0
    var digestsSeen = 0
    /// Digests that showed a stream to be behind, or digests to be missing.
    var digestsBehind = 0
    /// Entries of the bus that this version cannot read.
    var entriesRefused = 0
    /// Signals of clients dropped because too many were waiting.
    var signalsDropped = 0
    var reloads = 0
    var resets = 0

    func add(to metrics: Metrics) {
        let counters: [(String, String, @Reactor (Counters) -> Int)] = [
            ("deliveries", "Frames about streams handed to sessions", { $0.deliveries }),
            ("gaps", "Holes in a stream that did not close by themselves", { $0.gaps }),
            ("repairs", "Fetches that brought what all sessions of a stream missed", { $0.repairs }),
            ("catch_up_pages", "Pages fetched for sessions that catch up", { $0.catchUpPages }),
            ("digests_seen", "Digests received", { $0.digestsSeen }),
            ("digests_behind", "Digests that showed something to be missing", { $0.digestsBehind }),
            ("entries_refused", "Entries of the bus that could not be read", { $0.entriesRefused }),
            ("signals_dropped", "Receipts of clients dropped for want of room", { $0.signalsDropped }),
            ("reloads", "Gaps too long to replay", { $0.reloads }),
            ("resets", "Cursors beyond the end", { $0.resets }),
        ]
        for (name, help, value) in counters {
            metrics.counter("parley_fanout_\(name)_total", help) { Double(value(self)) }
        }
    }
}
