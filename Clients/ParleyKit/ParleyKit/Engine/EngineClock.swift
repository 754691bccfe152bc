import Foundation
import Models

/// The time, for the engine and those who gather updates.
package protocol EngineClock: Sendable {
    /// Since some moment in the past. It only moves forward.
    var now: Duration { get }
    /// The time of day, for what is shown.
    var timestamp: Timestamp { get }
    /// Throws when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

package struct SystemClock: EngineClock {
    private let start = ContinuousClock.now

    package init() {}

    package var now: Duration { ContinuousClock.now - start }

    package var timestamp: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
