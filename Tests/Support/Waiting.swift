import Reactor
import Testing

/// Polls: for conditions that have no event.
@Reactor package func waitUntil(_ condition: @Reactor () -> Bool) async {
    for _ in 0..<5000 {
        if condition() { return }
        await Reactor.sleep(for: .milliseconds(2))
    }
    Issue.record("the condition did not come true within ten seconds")
}
