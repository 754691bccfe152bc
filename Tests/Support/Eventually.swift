import Reactor

/// Waits for a condition on the reactor, at most a minute: much longer than needed, since the machine may be busy.
package func eventually(_ condition: @Reactor @Sendable () -> Bool) async -> Bool {
    for _ in 0..<6_000 {
        if await condition() { return true }
        await Reactor.sleep(for: .milliseconds(10))
    }
    return false
}
