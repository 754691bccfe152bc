import Bus
import Models
import Reactor
import Wire

/// Ends the older session when a device opens another one, on any fanout.
///
/// The other fanouts are notified at once, again after 1, 2, 4 … 64 seconds, and then every 64 seconds as long as the
/// session lasts. A lost frame, or a fanout that was not known yet, delays the end of the older session but does not
/// prevent it. Notifications carry ages instead of times, so no clocks are compared.
@Reactor
final class Supersession {
    private static let longestPause = 64
    /// How much older, in milliseconds, a session must be to be ended by a repetition. It exceeds the delay of a
    /// repetition, so that two sessions do not end each other.
    private static let margin: Int64 = 100

    private struct Repetition {
        weak var session: Session?
        /// Seconds since the previous notification.
        let pause: Int
    }

    private let bus: Bus
    private let sessions: SessionTable
    private let turns: Turns
    /// Repetitions by the second in which they are due.
    private var wheel = [[Repetition]](repeating: [], count: longestPause)
    private var second = 0

    init(bus: Bus, sessions: SessionTable, turns: Turns) {
        self.turns = turns
        self.bus = bus
        self.sessions = sessions
    }

    /// Starts repeating.
    func start() {
        Reactor.every(.seconds(1)) { [weak self] in self?.repeatDue() }
    }

    /// Supersedes older sessions of the device. Call it before `session` is added to the table.
    func supersede(by session: Session) {
        guard let name = session.device else { return }
        sessions.supersede(SessionTable.Device(user: session.user, name: name))
        announce(session, name, age: 0)
        plan(session, after: 1)
    }

    /// Handles a notification that another process opened a session of the device `age` milliseconds ago.
    func superseded(_ user: UserID, device: String, age: Int64) {
        let device = SessionTable.Device(user: user, name: device)
        sessions.supersede(device, olderThan: age == 0 ? -1 : age + Self.margin)
    }

    private func announce(_ session: Session, _ device: String, age: Int64) {
        bus.append(to: .ephemeral(session.user.slot.group)) { buffer in
            EphemeralEntry.superseded(session.user, device: device, age: age).write(to: &buffer)
        }
    }

    private func plan(_ session: Session, after pause: Int) {
        wheel[(second + pause) % Self.longestPause].append(Repetition(session: session, pause: pause))
    }

    private func repeatDue() {
        second = (second + 1) % Self.longestPause
        let due = wheel[second]
        wheel[second] = []
        turns.forEach(due) { [weak self] in self?.repeatOne($0) }
    }

    private func repeatOne(_ repetition: Repetition) {
        guard let session = repetition.session, !session.hasEnded, let name = session.device else { return }
        announce(session, name, age: max(1, session.age))
        plan(session, after: min(2 * repetition.pause, Self.longestPause))
    }
}
