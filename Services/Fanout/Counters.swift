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
    /// How often receipts of a client had to wait because too many had no answer yet.
    var receiptsDelayed = 0
    /// Clients sent away before their token was seen, because strangers held too much memory.
    var strangersRefused = 0
    /// Frames of the bus dropped because the sessions here could not be handed as much.
    var framesShed = 0
    var reloads = 0
    var resets = 0
    var presenceFrames = 0
    /// Frames about presence that never went, because much else waited for the session.
    var presenceDropped = 0
    /// Users shown by another process until it fell silent.
    var presenceExpired = 0
    var typingFrames = 0
    /// Frames about typing left out, because much else waited for the session or for all of them.
    var typingDropped = 0
    /// Members who fell silent while they typed.
    var typingExpired = 0

    /// All that was handed to sessions by the bus, for it to be shared out among turns.
    var handedOut: Int { deliveries + typingFrames }

    func add(to metrics: Metrics) {
        let counters: [(String, String, @Reactor (Counters) -> Int)] = [
            ("deliveries", "Frames about streams handed to sessions", { $0.deliveries }),
            ("gaps", "Holes in a stream that did not close by themselves", { $0.gaps }),
            ("repairs", "Fetches that brought what all sessions of a stream missed", { $0.repairs }),
            ("catch_up_pages", "Pages fetched for sessions that catch up", { $0.catchUpPages }),
            ("digests_seen", "Digests received", { $0.digestsSeen }),
            ("digests_behind", "Digests that showed something to be missing", { $0.digestsBehind }),
            ("entries_refused", "Entries of the bus that could not be read", { $0.entriesRefused }),
            ("receipts_delayed", "Times that receipts of a client waited for room", { $0.receiptsDelayed }),
            ("strangers_refused", "Clients sent away before their token was seen", { $0.strangersRefused }),
            ("frames_shed", "Frames of the bus dropped for want of room", { $0.framesShed }),
            ("reloads", "Gaps too long to replay", { $0.reloads }),
            ("resets", "Cursors beyond the end", { $0.resets }),
            ("presence_frames", "Frames about who is online handed to sessions", { $0.presenceFrames }),
            ("presence_dropped", "Frames about who is online left out for busy sessions", { $0.presenceDropped }),
            ("presence_expired", "Users shown by a fanout until it fell silent", { $0.presenceExpired }),
            ("typing_frames", "Frames about typing handed to sessions", { $0.typingFrames }),
            ("typing_dropped", "Frames about typing left out for busy sessions", { $0.typingDropped }),
            ("typing_expired", "Members who fell silent while they typed", { $0.typingExpired }),
        ]
        for (name, help, value) in counters {
            metrics.counter("parley_fanout_\(name)_total", help) { Double(value(self)) }
        }
    }
}
