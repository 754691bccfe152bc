import Archives
import CommandSupport
import Glibc
import Models
import Reactor

/// The way of an archive's records: checked, written, counted.
struct ArchiveConversion {
    let check: RecordCheck
    private(set) var refusals: [RecordCheck.Refusal: Int] = [:]
    /// The first that would be refused, by their line.
    private(set) var firstRefused: [(line: Int, reason: RecordCheck.Refusal)] = []
    private(set) var records = 0

    private let output: RecordOutput?
    private let coding = RecordLine()
    private var shown = MonotonicTime.now

    private static let refusalsShown = 20
    private static let recordsPerLook = 1_000

    init(to file: String?, now: Timestamp) throws {
        check = RecordCheck(now: now)
        output = try file.map { try RecordOutput($0) }
    }

    mutating func run(_ reader: any ArchiveReader) throws -> ArchiveReport {
        let report = try reader.read { try take($0) }
        for _ in check.unended { refuse(.notEnded) }
        try output?.finish()
        if Terminal.isInteractive { Terminal.replaceLine("") }
        return report
    }

    private mutating func take(_ record: ImportRecord) throws {
        records += 1
        if let refusal = check.take(record) { refuse(refusal) }
        try output?.write(try coding.bytes(record))
        if Terminal.isInteractive, records % Self.recordsPerLook == 0 { showProgress() }
    }

    private mutating func refuse(_ reason: RecordCheck.Refusal) {
        refusals[reason, default: 0] += 1
        if firstRefused.count < Self.refusalsShown { firstRefused.append((records, reason)) }
    }

    private mutating func showProgress() {
        guard (MonotonicTime.now - shown).nanoseconds > 200_000_000 else { return }
        shown = .now
        Terminal.replaceLine("\(grouped(records)) records")
    }
}

/// A file of records. It has its name when it is complete.
private final class RecordOutput {
    private let path: String
    private let file: UnsafeMutablePointer<FILE>
    private let isStandardOutput: Bool

    private var partial: String { path + ".part" }

    init(_ path: String) throws {
        self.path = path
        isStandardOutput = path == "-"
        let name = isStandardOutput ? "/dev/stdout" : path + ".part"
        guard let file = isStandardOutput ? fdopen(dup(STDOUT_FILENO), "w") : fopen(name, "w") else {
            throw ArchiveError("\(name) cannot be written: \(String(cString: strerror(errno)))")
        }
        self.file = file
    }

    func write(_ line: [UInt8]) throws {
        guard fwrite(line, 1, line.count, file) == line.count, putc(0x0A, file) >= 0 else { throw failure }
    }

    func finish() throws {
        guard fflush(file) == 0 else { throw failure }
        guard isStandardOutput || rename(partial, path) == 0 else { throw failure }
    }

    deinit { fclose(file) }

    private var failure: ArchiveError {
        ArchiveError("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
