import Edge
import Models
import Reactor
import ServiceKit

/// The sessions of one user on this process, and their shared allowance.
@Reactor
final class UserAccount {
    let user: UserID
    /// The sessions, the oldest first.
    private(set) var sessions: ContiguousArray<Session> = []
    private let limits: SessionLimits
    /// In frames. A frame that has been read is never refused, so the bucket may be overdrawn; then nothing is read
    /// until it is refilled.
    private var allowance: TokenBucket
    private var isResumePlanned = false

    init(_ user: UserID, _ limits: SessionLimits) {
        self.user = user
        self.limits = limits
        allowance = TokenBucket(limits.frameRate, at: .now)
    }

    /// Whether the account may be removed. A client that reconnects must not get a full allowance by that.
    var isIdle: Bool { sessions.isEmpty && allowance.isFull(limits.frameRate, at: .now) }

    /// The seconds until the user may reconnect; nil when there is no debt.
    var secondsInDebt: Int? { allowance.debt(limits.frameRate, at: .now).map { Int(1 + $0 / .seconds(1)) } }

    /// Adds a session. Returns the session that gives way when there are too many, the oldest: a user who opens a
    /// session needs it now, and a client that reconnects without closing must not lock itself out.
    func add(_ session: Session) -> Session? {
        sessions.append(session)
        let open = sessions.filter { $0.socket.isOpen }
        return open.count > limits.sessions ? open.first : nil
    }

    /// Returns the oldest sessions that give way because all of the user's sessions together are in too many rooms. One
    /// session always stays.
    func sessionsBeyondRoomLimit() -> [Session] {
        let open = sessions.filter(\.socket.isOpen)
        var rooms = open.reduce(0) { $0 + $1.roomCount }
        return open.dropLast().prefix { session in
            defer { rooms -= session.roomCount }
            return rooms > limits.conversations
        }
    }

    func remove(_ session: Session) { sessions.removeAll { $0 === session } }

    /// Charges a hello with a valid token, whatever follows.
    func chargeHello(bytes: Int) { charge(FrameCost.hello(bytes: bytes, limits), to: nil) }

    /// Charges frames that were read. When the allowance is overdrawn, nothing more is read from the session for a
    /// while.
    func charge(_ frames: Double, to session: Session?) {
        allowance.charge(frames, limits.frameRate, at: .now)
        guard let session, let wait = allowance.debt(limits.frameRate, at: .now) else { return }
        session.pause(.rate)
        planResume(after: wait)
    }

    private func planResume(after wait: Duration) {
        guard !isResumePlanned else { return }
        isResumePlanned = true
        Reactor.after(wait) { [weak self] in self?.resume() }
    }

    private func resume() {
        isResumePlanned = false
        // Frames of the user's other sessions may have been charged meanwhile.
        if let wait = allowance.debt(limits.frameRate, at: .now) { return planResume(after: wait) }
        for session in sessions { session.resume(.rate) }
    }
}
