import Glibc
import Reactor
import TestSupport
import Testing

/// The services, whole, on a simulated clock, bus and database. A failure prints its seed; the same seed fails again:
/// `SWIFT_DETERMINISTIC_HASHING=1 PARLEY_SEED=… swift test --filter SimulationTests`.
@Suite(.serialized) struct SimulationTests {
    /// The seeds of every run; `PARLEY_SEEDS` names another number.
    private static let seeds = getenv("PARLEY_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 500

    init() { ReactorThread.start() }

    @Test(
        "whatever is lost, repeated, delayed, reordered, cut or killed: everything acknowledged is there once, and everybody is told all of it in order"
    )
    @Reactor func faults() {
        if let seed = chosenSeed {
            let violations = Run.violations(seed: seed)
            #expect(violations.isEmpty, "seed \(seed): \(violations)")
            return
        }
        let start = MonotonicTime.now
        var seed: UInt64 = 0
        while seed < Self.seeds {
            let violations = Run.violations(seed: seed)
            #expect(violations.isEmpty, "PARLEY_SEED=\(seed): \(violations)")
            guard violations.isEmpty else { return }
            seed += 1
        }
        print("simulation: \(seed) seeds in \(MonotonicTime.now - start)")
    }

    private var chosenSeed: UInt64? { getenv("PARLEY_SEED").flatMap { UInt64(String(cString: $0)) } }

    /// By a seed that a correct system passes.
    @Test("a broken promise is found", arguments: Mutation.allCases)
    @Reactor func mutations(mutation: Mutation) {
        for seed in 0..<600 as Range<UInt64> {
            let violations = Run.violations(seed: seed, mutation)
            guard !violations.isEmpty, Run.violations(seed: seed).isEmpty else { continue }
            return print("simulation: \(mutation) is found by seed \(seed): \(violations[0])")
        }
        Issue.record("\(mutation) went unnoticed")
    }
}
