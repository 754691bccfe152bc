import Edge
import Models
import Reactor
import ServiceKit

/// All open sessions, by user and, for supersession, by device.
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
    /// Users without sessions whose accounts are kept until their allowance is full again.
    private(set) var absent: Set<UserID> = []

    init(_ limits: SessionLimits = SessionLimits()) { self.limits = limits }

    var count: Int { sessions.count }
    var all: some RandomAccessCollection<Session> { sessions.values }

    func sessions(of user: UserID) -> ContiguousArray<Session> { accounts[user]?.sessions ?? [] }

    /// Returns the account of an authenticated user.
    func account(of user: UserID) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = UserAccount(user, limits)
        accounts[user] = account
        absent.insert(user)
        return account
    }

    /// Adds a session. When the user has too many, their oldest one ends.
    func add(_ session: Session) {
        sessions.append(session)
        if let name = session.device { byDevice[Device(user: session.user, name: name)] = session }
        let account = account(of: session.user)
        absent.remove(session.user)
        account.add(session)?
            .end(.superseded, reason: "the user has opened more than \(limits.sessions) sessions")
    }

    /// Ends the user's oldest sessions when all of them together are in too many rooms. Call it when sessions join more
    /// rooms.
    func limitRooms(of user: UserID) {
        for session in accounts[user]?.sessionsBeyondRoomLimit() ?? [] {
            session.end(
                .superseded, reason: "the user's sessions are in more than \(limits.conversations) conversations")
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

    /// Removes the account of a user without sessions once its allowance is full.
    func forgetIfIdle(_ user: UserID) {
        guard accounts[user]?.isIdle == true else { return }
        accounts[user] = nil
        absent.remove(user)
    }

    /// Ends a device's session that a newer session supersedes, if it is older than `age` milliseconds.
    func supersede(_ device: Device, olderThan age: Int64 = -1) {
        guard let session = byDevice[device], session.age > age else { return }
        byDevice[device] = nil
        session.end(.superseded, reason: "the same device has opened another session")
    }
}
