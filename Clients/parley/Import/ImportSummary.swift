import Archives
import CommandSupport
import Foundation
import Models
import ParleyPresentation

/// What a terminal shows of an import or a dry run, and the same as JSON.
struct ImportSummary: Encodable {
    /// By kind, what the archive held.
    let records: [String: Int]
    /// What of it the system has; nil of a dry run, as the three behind it.
    let stored: [String: Int]?
    let unsent: Int?
    let unopened: Int?
    let isComplete: Bool?
    let rows: Int?
    let outcomes: [String: Int]
    let notes: [String: Int]
    let refused: [String: Int]
    /// Rows that the report forgot.
    let unaccounted: Int

    private let examples: [String: [String]]
    private let refusals: Refusals
    private let tally: ImportTally?

    private enum CodingKeys: CodingKey {
        case records, stored, unsent, unopened, isComplete, rows, outcomes, notes, refused, unaccounted
    }

    init(_ report: ArchiveReport, _ dryRun: DryRun) {
        self.init(report, read: dryRun.check.counts, dryRun.refusals, nil, isComplete: nil)
    }

    /// - Parameter report: nil if the archive was not read to its end.
    init(_ report: ArchiveReport?, _ tally: ImportTally, isComplete: Bool) {
        self.init(report ?? ArchiveReport(), read: tally.read, tally.refusals, tally, isComplete: isComplete)
    }

    private init(
        _ report: ArchiveReport, read: [ImportRecord.Kind: Int], _ refusals: Refusals, _ tally: ImportTally?,
        isComplete: Bool?
    ) {
        records = Self.named(read) { $0.rawValue }
        stored = tally.map { Self.named($0.stored) { $0.rawValue } }
        unsent = tally?.unsent
        unopened = tally.map { $0.unopened + $0.unended }
        self.isComplete = isComplete
        rows = report.rows
        outcomes = Self.named(report.outcomes) { "\($0)" }
        notes = Self.named(report.notes) { "\($0)" }
        refused = refusals.counts.reduce(into: [:]) { $0[$1.key.name, default: 0] += $1.value }
        unaccounted = report.unaccounted
        // They are what strangers wrote, and go to a terminal.
        examples = Dictionary(
            uniqueKeysWithValues: report.examples.map { note, texts in
                ("\(note)", texts.map { HarmlessText.line($0, limit: 80) })
            })
        self.refusals = refusals
        self.tally = tally
    }

    private static func named<Key: Hashable>(_ counts: [Key: Int], _ name: (Key) -> String) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: counts.map { (name($0.key), $0.value) })
    }

    var isFaultless: Bool { refused.isEmpty && unaccounted == 0 && tally?.isFaultless ?? true }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    // MARK: The table

    var table: String {
        (sourceLines + noteLines + ["Records"] + records.keys.sorted().compactMap { line(records[$0], $0) }
            + storedLines + refusedLines + unopenedLines).joined(separator: "\n")
    }

    private var sourceLines: [String] {
        guard let rows else { return [] }
        return ["\(grouped(rows)) rows of messages became"]
            + ArchiveReport.Outcome.allCases.compactMap { line(outcomes["\($0)"], $0.rawValue) }
            + (unaccounted == 0 ? [] : [line(unaccounted, "not accounted for: this is a defect of parley")!])
    }

    private var noteLines: [String] {
        let noted = ArchiveReport.Note.allCases.filter { notes["\($0)"] != nil }
        return (noted.isEmpty ? [] : ["Not as it was"])
            + noted.map { note in
                let named = examples["\(note)"].map { " (\($0.joined(separator: ", ")))" } ?? ""
                return line(notes["\(note)"], note.rawValue + named)!
            }
    }

    private var storedLines: [String] {
        guard let stored else { return [] }
        return ["Stored, now or before"]
            + (stored.isEmpty ? ["  none"] : stored.keys.sorted().compactMap { line(stored[$0], $0) })
    }

    private var refusedLines: [String] {
        let isDryRun = tally == nil
        guard refusals.count > 0 else { return [isDryRun ? "An import would refuse none" : "Refused: none"] }
        let title = isDryRun ? "An import would refuse" : "Refused"
        return [title] + refusals.lines
    }

    private var unopenedLines: [String] {
        guard let tally, tally.unopened + tally.unended + tally.unsent > 0 else { return [] }
        var lines = ["Not opened to their members"]
        if tally.unopened > 0 {
            let names = tally.firstUnopened.map(\.description).joined(separator: ", ")
            lines.append(line(tally.unopened, "conversations of which a record was refused: \(names)")!)
            lines.append(
                "  What is stored of them waits, unless they were opened before. Repair the archive and repeat the\n"
                    + "  import, repeat it with --open to open them without what was refused, or drop them:\n"
                    + "  DELETE /v1/import/ID.")
        }
        if tally.unended > 0 { lines.append(line(tally.unended, "conversations without an end in the archive")!) }
        if tally.unsent > 0 { lines.append(line(tally.unsent, "records not sent because of that")!) }
        return lines
    }

    private func line(_ count: Int?, _ text: String) -> String? { count.map { Self.line($0, text) } }

    static func line(_ count: Int, _ text: String) -> String {
        let number = grouped(count)
        return String(repeating: " ", count: max(2, 12 - number.count)) + number + "  " + text
    }
}
