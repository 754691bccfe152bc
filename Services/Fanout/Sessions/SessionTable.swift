import Edge
import Models
import Reactor
import ServiceKit

/// All open sessions: by user, and by device those that a newer one supersedes.
@Reactor
final class SessionTable {
    struct Device: Hashable {
        var user: UserID
        var name: String
    }

    private let limits: SessionLimits
    private var sessions = IdentityTable<Session>()
    private var byDevice: [Device: Session] = [:]
    private var accounts: [UserID: UserAccount] = [:]
    /// Users without sessions whose accounts are kept until they are as good as new.
    private(set) var absent: Set<UserID> = []

    init(_ limits: SessionLimits = SessionLimits()) { self.limits = limits }

    var count: Int { sessions.count }
    var all: some RandomAccessCollection<Session> { sessions.values }

    func sessions(of user: UserID) -> ContiguousArray<Session> { accounts[user]?.sessions ?? [] }

    /// The account of a user who has shown a token.
    func account(of user: UserID) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = UserAccount(user, limits)
        accounts[user] = account
        absent.insert(user)
        return account
    }

    /// Whoever is one too many is told to go.
    func add(_ session: Session) {
        sessions.append(session)
        if let name = session.device { byDevice[Device(user: session.user, name: name)] = session }
        let account = account(of: session.user)
        absent.remove(session.user)
        account.add(session)?
            .end(.superseded, reason: "the user has opened more than \(limits.sessions) sessions")
    }

    /// Called when sessions of the user come to be in more rooms.
    func boundPlaces(of user: UserID) {
        for session in accounts[user]?.sessionsBeyondPlaces() ?? [] {
            session.end(.superseded, reason: "the user's sessions are in more than \(limits.places) conversations")
        }
    }

    func remove(_ session: Session) {
        sessions.remove(session)
        leaveAccount(session)
        guard let name = session.device else { return }
        let device = Device(user: session.user, name: name)
        if byDevice[device] === session { byDevice[device] = nil }
    }

    private func leaveAccount(_ session: Session) {
        guard let account = accounts[session.user] else { return }
        account.remove(session)
        if account.sessions.isEmpty { absent.insert(session.user) }
    }

    /// Forgets the account of a user who is absent, unless they would gain by that.
    func forgetIfIdle(_ user: UserID) {
        guard accounts[user]?.isIdle == true else { return }
        accounts[user] = nil
        absent.remove(user)
    }

    /// Ends the session of a device that a newer session takes the place of, if it is older than that many milliseconds.
    func supersede(_ device: Device, olderThan age: Int64 = -1) {
        guard let session = byDevice[device], session.age > age else { return }
        byDevice[device] = nil
        session.end(.superseded, reason: "the same device has opened another session")
    }
}
