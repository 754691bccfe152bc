import Reactor

/// Waits until something on the reactor becomes true, at most five seconds.
package func eventually(_ condition: @Reactor @Sendable () -> Bool) async -> Bool {
    for _ in 0..<500 {
        if await condition() { return true }
        await Reactor.sleep(for: .milliseconds(10))
    }
    return false
}
