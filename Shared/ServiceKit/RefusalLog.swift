import Reactor
import Wire

/// Logs that frames of peers were refused: for each role at once, and then at most once a minute with the number.
///
/// During an upgrade this is expected. Otherwise a peer is broken or foreign.
@Reactor
final class RefusalLog {
    static let pause = Duration.seconds(60)

    private let log: Log
    /// The refusals since the last line, for each role with a line within the last `pause`.
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
            "frames of a peer were refused",
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
