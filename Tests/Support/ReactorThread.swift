import Glibc
import Reactor

/// The reactor on a thread of its own, started once for the whole test process: all test targets run in one process, and
/// there is only one reactor.
package enum ReactorThread {
    /// Call it in the `init` of a suite whose tests are `@Reactor`. Never isolate the suite itself: finding its tests would
    /// wait for the reactor before anything could start it.
    package static func start() { _ = started }

    private static let started: Void = {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                Reactor.run()
                return nil
            }, nil)
    }()
}
