import Archives
import CommandSupport
import Models
import Reactor

/// An import that sends nothing: reads an archive, counts what an import would refuse, and can write the records.
struct DryRun {
    let check: RecordCheck
    private(set) var refusals = Refusals()

    private let output: RecordOutput?
    private let coding = RecordLine()
    private let showsProgress: Bool
    private var records = 0
    private var shown = MonotonicTime.now

    private static let recordsPerLook = 1_000
    private static let interval = Duration.milliseconds(200)

    /// - Parameter file: where the records are written, if anywhere; `-` is standard output.
    init(to file: String?, now: Timestamp, showsProgress: Bool) throws {
        check = RecordCheck(now: now)
        output = try file.map { try RecordOutput($0) }
        self.showsProgress = showsProgress
    }

    mutating func run(_ reader: any ArchiveReader) throws -> ArchiveReport {
        var last: SourceRecord?
        let report = try reader.read { record in
            try take(record)
            last = record
        }
        for _ in check.unended { refusals.add(Refusals.Reason(.notEnded), at: last?.place ?? .line(0), .end) }
        try output?.finish()
        if showsProgress { Terminal.replaceLine("") }
        return report
    }

    private mutating func take(_ record: SourceRecord) throws {
        records += 1
        if let refusal = check.take(try record.record(coding)) {
            refusals.add(Refusals.Reason(refusal), at: record.place, record.kind)
        }
        try output?.write(try record.line(coding))
        if showsProgress, records % Self.recordsPerLook == 0 { showProgress(record.share) }
    }

    private mutating func showProgress(_ share: Double) {
        guard MonotonicTime.now - shown > Self.interval else { return }
        shown = .now
        Terminal.replaceLine("\(ProgressBar.text(share)) \(grouped(records)) records")
    }
}
