import Reactor

/// Waits until something on the reactor becomes true, at most a minute: much longer than it takes, since the machine may be busy.
package func eventually(_ condition: @Reactor @Sendable () -> Bool) async -> Bool {
    for _ in 0..<6_000 {
        if await condition() { return true }
        await Reactor.sleep(for: .milliseconds(10))
    }
    return false
}
