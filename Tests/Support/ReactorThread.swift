import Glibc
import Reactor

/// The reactor on its own thread, started once per test process. All test targets run in one process, and there is only
/// one reactor.
package enum ReactorThread {
    /// Starts the reactor. Call it in the `init` of a suite with `@Reactor` tests. Never isolate the suite itself: test
    /// discovery would wait for the reactor before anything could start it.
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
