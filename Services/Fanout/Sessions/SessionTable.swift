import Edge
import Models
import Reactor

/// All open sessions, and by device those that a newer one supersedes.
@Reactor
final class SessionTable {
    struct Device: Hashable {
        var user: UserID
        var name: String
    }

    private var sessions: [ObjectIdentifier: Session] = [:]
    private var byDevice: [Device: Session] = [:]

    var count: Int { sessions.count }
    var all: Dictionary<ObjectIdentifier, Session>.Values { sessions.values }

    func add(_ session: Session) {
        sessions[ObjectIdentifier(session)] = session
        if let name = session.device { byDevice[Device(user: session.user, name: name)] = session }
    }

    func remove(_ session: Session) {
        sessions[ObjectIdentifier(session)] = nil
        guard let name = session.device else { return }
        let device = Device(user: session.user, name: name)
        if byDevice[device] === session { byDevice[device] = nil }
    }

    /// Ends the session of a device that a newer session takes the place of, if it is older than that many milliseconds.
    func supersede(_ device: Device, olderThan age: Int64 = -1) {
        guard let session = byDevice[device], session.age > age else { return }
        byDevice[device] = nil
        session.end(.superseded, reason: "the same device has opened another session")
    }
}
