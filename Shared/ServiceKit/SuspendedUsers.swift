import Models
import Wire

/// The users that are suspended, as `RevokedTokens` hears of them. About 200 bytes each, and one look-up for a request.
///
/// It holds for users' own tokens: an administrator's is not held up, whomever it acts for.
struct SuspendedUsers {
    private struct Held {
        let number: Int64
        let mode: SuspensionMode
        let until: Timestamp?

        func isOver(at now: Timestamp) -> Bool { until.map { $0 <= now } ?? false }
    }

    private var held: [UserID: Held] = [:]

    var count: Int { held.count }

    /// What the user of a token is told; nil: they are not suspended.
    func suspension(of identity: Identity, at now: Timestamp) -> Problem.Suspended? {
        guard !held.isEmpty, !identity.isAdministrator, let held = held[identity.user], !held.isOver(at: now) else {
            return nil
        }
        return Problem.Suspended(held.mode, until: held.until, at: now)
    }

    /// Holds the latest one of its user. The numbers say which that is.
    ///
    /// - Returns: whether it was news.
    mutating func insert(_ suspension: HeldSuspension, at now: Timestamp) -> Bool {
        if let known = held[suspension.user], known.number >= suspension.number { return false }
        // That it was lifted is held like one that has ended: an older one may still come.
        held[suspension.user] = Held(
            number: suspension.number, mode: suspension.mode ?? .readOnly,
            until: suspension.mode == nil ? min(suspension.until ?? now, now) : suspension.until)
        return true
    }

    /// Removes those that are over for so long that nothing older comes any more.
    mutating func forget(at now: Timestamp) {
        let past = Timestamp(milliseconds: now.milliseconds - Self.heldFor)
        held = held.filter { !$0.value.isOver(at: past) }
    }

    /// How long the end of one is held, in milliseconds: longer than any message is on the bus, and than clocks differ.
    private static let heldFor: Int64 = 600_000
}
