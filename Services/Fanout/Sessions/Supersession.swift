import Bus
import Models
import Reactor
import Wire

/// Ends the older session when a device opens another one, wherever that is.
@Reactor
final class Supersession {
    private let bus: Bus
    private let sessions: SessionTable

    init(bus: Bus, sessions: SessionTable) {
        self.bus = bus
        self.sessions = sessions
    }

    /// Called before `session` is added to the table.
    func supersede(by session: Session) {
        guard let name = session.device else { return }
        sessions.supersede(SessionTable.Device(user: session.user, name: name))
        bus.append(to: .ephemeral(session.user.slot.group)) { buffer in
            EphemeralEntry.superseded(session.user, device: name).write(to: &buffer)
        }
    }

    /// Another process has opened a session of the device.
    func superseded(_ user: UserID, device: String) {
        sessions.supersede(SessionTable.Device(user: user, name: device))
    }
}
