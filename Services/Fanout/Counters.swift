import Reactor
import ServiceKit

/// Counts of what a fanout has done, for metrics.
@Reactor
final class Counters {
    /// Frames of streams sent to sessions.
    var deliveries = 0
    /// Gaps in streams that had to be repaired by a fetch.
    var gaps = 0
    /// Fetches that returned missing entries, for all sessions of a stream.
    var repairs = 0
    /// Pages fetched for single sessions that catch up.
    var catchUpPages = 0
    var digestsReceived = 0
    /// Digests that revealed a lost digest or a new owner.
    var digestsIncomplete = 0
    /// Bus entries that this version cannot read.
    var entriesRefused = 0
    /// How often receipts of a client had to wait because too many had no response.
    var receiptsDelayed = 0
    /// Unauthenticated connections closed because together they held too much memory.
    var unauthenticatedRefused = 0
    /// Bus frames dropped because the sessions here could not take them fast enough.
    var framesDropped = 0
    var reloads = 0
    var resets = 0
    var presenceFrames = 0
    /// Presence frames dropped because the session was congested.
    var presenceDropped = 0
    /// Users shown online by another process until it fell silent.
    var presenceExpired = 0
    /// Frames about changed profiles.
    var profileFrames = 0
    /// Those dropped because the session was congested.
    var profilesDropped = 0
    var typingFrames = 0
    /// Typing frames dropped because the session or the process was congested.
    var typingDropped = 0
    /// Members whose typing expired without a stop.
    var typingExpired = 0

    /// The frames passed to sessions so far, by which the work of a turn is measured.
    var handedOut: Int { deliveries + typingFrames }

    func add(to metrics: Metrics) {
        let counters: [(String, String, @Reactor (Counters) -> Int)] = [
            ("deliveries", "Frames of streams sent to sessions", { $0.deliveries }),
            ("gaps", "Gaps in streams that were repaired by a fetch", { $0.gaps }),
            ("repairs", "Fetches that returned missing entries for all sessions of a stream", { $0.repairs }),
            ("catch_up_pages", "Pages fetched for sessions that catch up", { $0.catchUpPages }),
            ("digests_received", "Digests received", { $0.digestsReceived }),
            ("digests_incomplete", "Digests that revealed a lost digest or a new owner", { $0.digestsIncomplete }),
            ("entries_refused", "Bus entries of an unknown layout", { $0.entriesRefused }),
            ("receipts_delayed", "Times that receipts of a client had to wait", { $0.receiptsDelayed }),
            (
                "unauthenticated_refused", "Unauthenticated connections closed to free memory",
                { $0.unauthenticatedRefused }
            ),
            ("frames_dropped", "Bus frames dropped because too many were waiting", { $0.framesDropped }),
            ("reloads", "Gaps too long to replay, answered with reload", { $0.reloads }),
            ("resets", "Cursors beyond the end, answered with reset", { $0.resets }),
            ("presence_frames", "Presence frames sent to sessions", { $0.presenceFrames }),
            ("presence_dropped", "Presence frames dropped for congested sessions", { $0.presenceDropped }),
            ("presence_expired", "Users shown online by another fanout until it fell silent", { $0.presenceExpired }),
            ("profile_frames", "Frames about changed profiles sent to sessions", { $0.profileFrames }),
            (
                "profiles_dropped", "Frames about changed profiles dropped for congested sessions",
                { $0.profilesDropped }
            ),
            ("typing_frames", "Typing frames sent to sessions", { $0.typingFrames }),
            ("typing_dropped", "Typing frames dropped under congestion", { $0.typingDropped }),
            ("typing_expired", "Members whose typing expired without a stop", { $0.typingExpired }),
        ]
        for (name, help, value) in counters {
            metrics.counter("parley_fanout_\(name)_total", help) { Double(value(self)) }
        }
    }
}
