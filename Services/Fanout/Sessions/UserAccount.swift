import Edge
import Models
import Reactor
import ServiceKit

/// The sessions of one user on this process, and what they may take of it together.
@Reactor
final class UserAccount {
    let user: UserID
    /// The oldest first.
    private(set) var sessions: ContiguousArray<Session> = []
    private let limits: SessionLimits
    /// Of frames. What has been read is never refused, so it may be overdrawn; then nothing is read until it is filled again.
    private var allowance: TokenBucket
    private var isResumePlanned = false

    init(_ user: UserID, _ limits: SessionLimits) {
        self.user = user
        self.limits = limits
        allowance = TokenBucket(limits.frameRate, at: .now)
    }

    /// Whether it may be forgotten: a client that comes back must not find its allowance filled by that.
    var isIdle: Bool { sessions.isEmpty && allowance.isFull(limits.frameRate, at: .now) }

    /// How many seconds the user has to stay away; nil when there is nothing to wait for.
    var secondsInDebt: Int? { allowance.debt(limits.frameRate, at: .now).map { Int(1 + $0 / .seconds(1)) } }

    /// The one that gives way to this one, if they are too many: who opens a session is who wants one now. A client that
    /// never says goodbye, but comes back again and again, locks itself out no more than anybody else.
    func add(_ session: Session) -> Session? {
        sessions.append(session)
        let open = sessions.filter { $0.socket.isOpen }
        return open.count > limits.sessions ? open.first : nil
    }

    /// Those that give way because all of the user's sessions together are in more rooms than they may be. One always stays.
    func sessionsBeyondPlaces() -> [Session] {
        let open = sessions.filter(\.socket.isOpen)
        var places = open.reduce(0) { $0 + $1.places }
        return open.dropLast().prefix { session in
            defer { places -= session.places }
            return places > limits.places
        }
    }

    func remove(_ session: Session) { sessions.removeAll { $0 === session } }

    /// Called for a hello with a good token, whatever becomes of it.
    func chargeHello(bytes: Int) { charge(FrameCost.hello(bytes: bytes, limits), to: nil) }

    /// Called for what has been read. When it was too much, nothing more is read from the session for a while.
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
        // What others of the user's sessions have said meanwhile counts, too.
        if let wait = allowance.debt(limits.frameRate, at: .now) { return planResume(after: wait) }
        for session in sessions { session.resume(.rate) }
    }
}
