import CommandSupport
import Reactor

/// Shows the progress of a replay: a bar on a terminal, occasional lines elsewhere.
@Reactor
final class ReplayProgress {
    struct State: Sendable {
        let acknowledged: Int
        let inFlight: Int
        let received: Int
    }

    private let isInteractive: Bool
    private let started = MonotonicTime.now
    private var total = 0
    private var state: (@Reactor () -> State)?
    private var lastCount = 0
    private var lastTime = MonotonicTime.now

    init(isInteractive: Bool = Terminal.isInteractive) { self.isInteractive = isInteractive }

    func stage(_ text: String) { Terminal.tell("\(text) …") }

    func watch(total: Int, _ state: @escaping @Reactor () -> State) {
        self.total = total
        self.state = state
        lastTime = .now
        show()
    }

    func stopWatching() {
        guard let state else { return }
        self.state = nil
        if isInteractive { Terminal.replaceLine(line(state(), perSecond: nil) + "\n") }
    }

    private func show() {
        Reactor.after(isInteractive ? .milliseconds(200) : .seconds(2)) { [self] in
            guard let state else { return }
            let line = line(state(), perSecond: rate(state().acknowledged))
            isInteractive ? Terminal.replaceLine(line) : Terminal.tell(line)
            show()
        }
    }

    private func rate(_ count: Int) -> Int {
        let now = MonotonicTime.now
        defer { (lastCount, lastTime) = (count, now) }
        return Int(Double(count - lastCount) * 1e9 / Double(max(1, (now - lastTime).nanoseconds)))
    }

    private func line(_ state: State, perSecond rate: Int?) -> String {
        let share = total == 0 ? 1 : Double(state.acknowledged) / Double(total)
        let speed = rate.map { "   \(grouped($0))/s   in flight \(grouped(state.inFlight))" } ?? ""
        return
            "\(ProgressBar.text(share)) \(grouped(state.acknowledged)) of \(grouped(total))   received \(grouped(state.received))\(speed)"
    }
}
