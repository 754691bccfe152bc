import Archives
import CommandSupport
import Foundation
import ParleyPresentation

/// What a follower did since it began, for a terminal and as JSON.
struct FollowSummary: Encodable {
    /// Operations that the system has carried out, by kind.
    let done: [String: Int]
    let outcomes: [String: Int]
    let notes: [String: Int]
    let refused: [String: Int]

    private let report: ArchiveReport
    private let refusals: Refusals

    private enum CodingKeys: CodingKey { case done, outcomes, notes, refused }

    init(_ report: ArchiveReport, _ counts: [LiveOperation.Kind: Int], _ refusals: Refusals) {
        self.report = report
        self.refusals = refusals
        done = Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
        outcomes = Dictionary(uniqueKeysWithValues: report.outcomes.map { ("\($0.key)", $0.value) })
        notes = Dictionary(uniqueKeysWithValues: report.notes.map { ("\($0.key)", $0.value) })
        refused = refusals.counts.reduce(into: [:]) { $0[$1.key.name, default: 0] += $1.value }
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    var table: String {
        (["Since the import, rows became"]
            + lines(ArchiveReport.Outcome.allCases.map { (outcomes["\($0)"], $0.rawValue) })
            + ["Not as it was"] + lines(ArchiveReport.Note.allCases.map { (notes["\($0)"], named($0)) })
            + ["Carried out"] + lines(LiveOperation.Kind.allCases.map { (done[$0.rawValue], $0.rawValue) })
            + (refusals.count == 0 ? ["Refused: none"] : ["Refused"] + refusals.lines))
            .joined(separator: "\n")
    }

    private func named(_ note: ArchiveReport.Note) -> String {
        let examples = (report.examples[note] ?? []).map { HarmlessText.line($0, limit: 80) }
        return note.rawValue + (examples.isEmpty ? "" : " (\(examples.joined(separator: ", ")))")
    }

    private func lines(_ counts: [(Int?, String)]) -> [String] {
        let lines = counts.compactMap { count, text in count.map { ImportSummary.line($0, text) } }
        return lines.isEmpty ? ["  none"] : lines
    }
}
