import Archives
import Models

/// What was refused of an import: everything is counted, the first are named.
struct Refusals {
    struct Reason: Hashable {
        /// For programs.
        let name: String
        let sentence: String

        init(name: String, sentence: String) {
            self.name = name
            self.sentence = sentence
        }

        init(_ refusal: RecordCheck.Refusal) { self.init(name: "\(refusal)", sentence: refusal.rawValue) }

        init(_ result: ImportResult) {
            let name = result.problem?.code.name ?? "\(result.status)"
            self.init(name: name, sentence: result.problem.map { "\(name): \($0.detail)" } ?? "status \(name)")
        }
    }

    struct Example {
        let place: SourcePlace
        let kind: ImportRecord.Kind
        let reason: Reason
    }

    private(set) var counts: [Reason: Int] = [:]
    private(set) var first: [Example] = []

    private static let namedExamples = 20
    /// A server has far fewer. Of one that makes them up the rest is counted together.
    private static let mostReasons = 100
    private static let others = Reason(name: "other", sentence: "for other reasons")

    var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ reason: Reason, at place: SourcePlace, _ kind: ImportRecord.Kind) {
        let isKept = counts.count < Self.mostReasons || counts[reason] != nil
        counts[isKept ? reason : Self.others, default: 0] += 1
        if first.count < Self.namedExamples { first.append(Example(place: place, kind: kind, reason: reason)) }
    }
}
