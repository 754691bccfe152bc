import Archives
import CommandSupport
import Foundation
import ParleyPresentation

/// What a terminal shows of a conversion, and the same as JSON.
struct ArchiveSummary: Encodable {
    let records: [String: Int]
    let rows: Int?
    let outcomes: [String: Int]
    let notes: [String: Int]
    let refused: [String: Int]
    /// Rows that the report forgot.
    let unaccounted: Int
    private let examples: [String: [String]]
    private let firstRefused: [String]

    private enum CodingKeys: CodingKey { case records, rows, outcomes, notes, refused, unaccounted }

    init(_ report: ArchiveReport, _ conversion: ArchiveConversion) {
        records = Self.named(conversion.check.counts) { $0.rawValue }
        rows = report.rows
        outcomes = Self.named(report.outcomes) { "\($0)" }
        notes = Self.named(report.notes) { "\($0)" }
        refused = Self.named(conversion.refusals) { "\($0)" }
        unaccounted = report.unaccounted
        // They are what strangers wrote, and go to a terminal.
        examples = Dictionary(
            uniqueKeysWithValues: report.examples.map { note, texts in
                ("\(note)", texts.map { HarmlessText.line($0, limit: 80) })
            })
        firstRefused = conversion.firstRefused.map { "  record \($0.line): \($0.reason.rawValue)" }
    }

    private static func named<Key: Hashable>(_ counts: [Key: Int], _ name: (Key) -> String) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: counts.map { (name($0.key), $0.value) })
    }

    var isFaultless: Bool { refused.isEmpty && unaccounted == 0 }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    var table: String {
        var lines: [String] = []
        if let rows {
            lines += ["\(grouped(rows)) rows of messages became"]
            lines += ArchiveReport.Outcome.allCases.compactMap { line(outcomes["\($0)"], $0.rawValue) }
            lines += unaccounted == 0 ? [] : [line(unaccounted, "not accounted for: this is a defect of parley")!]
        }
        let noted = ArchiveReport.Note.allCases.filter { notes["\($0)"] != nil }
        if !noted.isEmpty { lines.append("Not as it was") }
        for note in noted {
            let named = examples["\(note)"].map { " (\($0.joined(separator: ", ")))" } ?? ""
            lines.append(line(notes["\(note)"], note.rawValue + named)!)
        }
        lines.append("Records")
        lines += records.keys.sorted().compactMap { line(records[$0], $0) }
        lines.append(refused.isEmpty ? "An import would refuse none" : "An import would refuse")
        lines += firstRefused
        lines += RecordCheck.Refusal.allCases.compactMap { line(refused["\($0)"], $0.rawValue) }
        return lines.joined(separator: "\n")
    }

    private func line(_ count: Int?, _ text: String) -> String? {
        count.map { number in
            let number = grouped(number)
            return String(repeating: " ", count: max(2, 12 - number.count)) + number + "  " + text
        }
    }
}
