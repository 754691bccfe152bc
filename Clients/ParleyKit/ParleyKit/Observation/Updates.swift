import Models
import ParleyStorage

/// States of something, one after the other, from the present one on. Whoever is slow misses states in between, never the
/// latest. It ends when the client is closed or the task is cancelled.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    let observe: @Sendable () -> @Sendable () async -> Element?

    public struct AsyncIterator: AsyncIteratorProtocol {
        let step: @Sendable () async -> Element?

        public mutating func next() async -> Element? { await step() }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { await step() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(step: observe()) }
}

/// What observers are made of.
struct ObservationContext: Sendable {
    let reader: LocalDatabase
    let engine: Engine
    let hub: Hub
    let clock: any EngineClock

    /// Those whom a state shows: their profiles are asked for when that is due. Of many only the first ones: the application
    /// says whom it shows of the others.
    func show(_ users: some Sequence<UserID?>) async {
        await engine.show(Set(users.lazy.compactMap(\.self).prefix(Self.mostShown)))
    }

    private static let mostShown = 400

    /// States that `read` finds, each time it differs from the one before.
    ///
    /// - Parameter gathering: how long to wait after something has changed for what changes with it.
    func updates<Value: Equatable & Sendable>(
        of concerns: @escaping @Sendable (Topic) -> Bool, gathering: Duration = .zero,
        read: @escaping @Sendable () async throws -> Value
    ) -> Updates<Value> {
        Updates {
            let observer = Observer<Value>(signal: hub.signal(concerns), in: self, gathering: gathering) { last, _ in
                let value = try await read()
                return value == last ? nil : value
            }
            return { await observer.next() }
        }
    }
}

/// Computes what one loop shows, whenever that may have changed and the loop is ready for it. Not on the main actor.
actor Observer<Element: Sendable> {
    private let signal: Signal
    private let observation: ObservationContext
    private let gathering: Duration
    private let compute: @Sendable (_ last: Element?, _ topics: Set<Topic>) async throws -> Element?
    private var last: Element?

    /// - Parameter compute: returns nil if there is nothing new.
    init(
        signal: Signal, in observation: ObservationContext, gathering: Duration = .zero,
        compute: @escaping @Sendable (_ last: Element?, _ topics: Set<Topic>) async throws -> Element?
    ) {
        self.signal = signal
        self.observation = observation
        self.gathering = gathering
        self.compute = compute
    }

    func next() async -> Element? {
        while var topics = await signal.wait() {
            if gathering > .zero, last != nil {
                try? await observation.clock.sleep(for: gathering)
                topics.formUnion(signal.drain())
            }
            do {
                if let element = try await compute(last, topics) {
                    last = element
                    return element
                }
            } catch let error as StorageError {
                // Shown again when something is stored again.
                if error.reason != .closed { observation.hub.report(.storage(error)) }
            } catch {}
        }
        return nil
    }
}
