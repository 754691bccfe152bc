import Models
import Reactor
import Wire

/// The users that are suspended, as `RevokedTokens` hears of them. About 200 bytes each, and one look-up for a request.
///
/// It holds for users' own tokens: an administrator's is not held up, whomever it acts for.
struct SuspendedUsers {
    private struct Held {
        let number: Int64
        let mode: SuspensionMode
        let until: Timestamp?
        /// By the monotonic clock: one removed because the wall clock jumped would not be published again. Nil: for ever.
        let forgottenAt: MonotonicTime?

        func isOver(at now: Timestamp) -> Bool { until.map { $0 <= now } ?? false }
    }

    private var held: [UserID: Held] = [:]

    var count: Int { held.count }

    /// What the user of a token is told; nil: they are not suspended, or not to know.
    func suspension(of identity: Identity, at now: Timestamp) -> Problem.Suspended? {
        guard let held = present(of: identity, at: now), held.mode != .unheard else { return nil }
        return Problem.Suspended(held.mode, until: held.until, at: now)
    }

    /// Whether nobody hears of what the user of a token begins.
    func isUnheard(_ identity: Identity, at now: Timestamp) -> Bool { present(of: identity, at: now)?.mode == .unheard }

    private func present(of identity: Identity, at now: Timestamp) -> Held? {
        guard !held.isEmpty, !identity.isAdministrator, let held = held[identity.user], !held.isOver(at: now) else {
            return nil
        }
        return held
    }

    /// Holds the latest one of its user. The numbers say which that is.
    ///
    /// - Returns: whether it was news.
    mutating func insert(_ suspension: HeldSuspension, at now: Timestamp, _ arrival: MonotonicTime) -> Bool {
        if let known = held[suspension.user], known.number >= suspension.number { return false }
        // That it was lifted is held like one that has ended: an older one may still come.
        let until = suspension.mode == nil ? min(suspension.until ?? now, now) : suspension.until
        held[suspension.user] = Held(
            number: suspension.number, mode: suspension.mode ?? .readOnly, until: until,
            forgottenAt: until.map { arrival + Self.time(from: now, to: $0) + Self.heldFor })
        return true
    }

    /// Removes those that are over for so long that nothing older comes any more.
    mutating func forget(at now: MonotonicTime) {
        held = held.filter { entry in entry.value.forgottenAt.map { now < $0 } ?? true }
    }

    /// How long the end of one is held: longer than any message is on the bus, and than clocks differ.
    private static let heldFor = Duration.seconds(600)

    /// Of what is further away than ten years no process sees the end, and nanoseconds have none of the year 9999.
    private static func time(from now: Timestamp, to end: Timestamp) -> Duration {
        .milliseconds(max(0, min(end.milliseconds - now.milliseconds, 10 * 366 * 86_400_000)))
    }
}
