import Archives
import Models
import ParleyPresentation

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

        init(_ result: ImportResult) { self.init(status: result.status, result.problem) }

        init(status: Int, _ problem: ProblemDetails?) {
            let name = problem?.code.name ?? "\(status)"
            self.init(name: name, sentence: problem.map { "\(name): \($0.detail)" } ?? "status \(name)")
        }
    }

    struct Example: CustomStringConvertible {
        let place: SourcePlace
        /// What was refused.
        let what: String
        let reason: Reason

        /// Without what a terminal might obey.
        var description: String { "\(place): \(what): " + HarmlessText.line(reason.sentence, limit: 200) }
    }

    private(set) var counts: [Reason: Int] = [:]
    private(set) var first: [Example] = []

    private static let namedExamples = 20
    /// A server has far fewer. Of one that makes them up the rest is counted together.
    private static let mostReasons = 100
    private static let others = Reason(name: "other", sentence: "for other reasons")

    /// A line for each of the first, then how many there are of each reason.
    var lines: [String] {
        let counted = counts.sorted { ($1.value, $0.key.sentence) < ($0.value, $1.key.sentence) }
        return first.map { "  \($0)" }
            + counted.map { ImportSummary.line($0.value, HarmlessText.line($0.key.sentence, limit: 200)) }
    }

    var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ reason: Reason, at place: SourcePlace, _ kind: ImportRecord.Kind) {
        add(reason, at: place, kind.rawValue)
    }

    mutating func add(_ reason: Reason, at place: SourcePlace, _ what: String) {
        let isKept = counts.count < Self.mostReasons || counts[reason] != nil
        counts[isKept ? reason : Self.others, default: 0] += 1
        if first.count < Self.namedExamples { first.append(Example(place: place, what: what, reason: reason)) }
    }
}
