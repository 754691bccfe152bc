import Reactor
import Testing

/// Polls a condition that has no event, at most a minute: much longer than needed, since the machine may be busy.
@Reactor package func waitUntil(_ condition: @Reactor () -> Bool) async {
    for _ in 0..<30_000 {
        if condition() { return }
        await Reactor.sleep(for: .milliseconds(2))
    }
    Issue.record("the condition did not come true within a minute")
}
