import Glibc
import Reactor
import TestSupport
import Testing

/// The model of the database that the simulation uses, beside PostgreSQL: runs of the simulation are written down and
/// carried out again there.
@Suite(.serialized) struct ModelTests {
    private static let seeds: Range<UInt64> = 0..<15

    init() { ReactorThread.start() }

    @Test("the database of the simulation returns and holds what PostgreSQL does")
    @Reactor func model() throws {
        var coverage = Coverage()
        for seed in Self.chosenSeed.map({ $0..<$0 + 1 }) ?? Self.seeds {
            let differences = try compare(seed, &coverage)
            #expect(differences.isEmpty, "PARLEY_SEED=\(seed): \(differences)")
            guard differences.isEmpty else { return }
        }
        guard Self.chosenSeed == nil else { return }
        #expect(coverage.gaps == [])
        print("simulation: \(coverage.summary)")
    }

    private static var chosenSeed: UInt64? { getenv("PARLEY_SEED").flatMap { UInt64(String(cString: $0)) } }

    @Reactor private func compare(_ seed: UInt64, _ coverage: inout Coverage) throws -> [String] {
        let (transcript, end, violations) = Run.transcript(seed: seed)
        #expect(violations.isEmpty, "PARLEY_SEED=\(seed): \(violations)")
        let replay = try Replay(transcript.initial)
        replay.carryOut(transcript)
        if replay.differences.isEmpty { try replay.compare(end) }
        coverage.add(replay)
        return replay.differences
    }
}
