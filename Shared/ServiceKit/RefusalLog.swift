import Reactor
import Wire

/// Says in the log that what peers send is not understood: of each role at once, and then once a minute how often.
///
/// During an upgrade that is as it should be. Otherwise a peer is broken, or none of ours.
@Reactor
final class RefusalLog {
    static let pause = Duration.seconds(60)

    private let log: Log
    /// Refused since the last line. Roles that are not here were silent for a whole pause.
    private var counts: [Role?: Int] = [:]

    init(log: Log) { self.log = log }

    func note(_ sender: Role?, _ reason: StaticString) {
        if let count = counts[sender] {
            counts[sender] = count + 1
        } else {
            write(sender, reason, times: 1)
        }
    }

    private func write(_ sender: Role?, _ reason: StaticString, times: Int) {
        log.warning(
            "what a peer sent was refused",
            [
                LogField("peer", sender?.rawValue ?? "unknown"), LogField("reason", "\(reason)"),
                LogField("times", times),
            ])
        counts[sender] = 0
        Reactor.after(Self.pause) { [weak self] in self?.pauseEnded(sender, reason) }
    }

    private func pauseEnded(_ sender: Role?, _ reason: StaticString) {
        guard let count = counts.removeValue(forKey: sender), count > 0 else { return }
        write(sender, reason, times: count)
    }
}
