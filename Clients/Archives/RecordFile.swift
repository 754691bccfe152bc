import Models

/// The format `parley`: a record a line.
package struct RecordFile: ArchiveReader, Sendable {
    private let file: LineFile

    package init(path: String) { file = LineFile(path: path) }

    package func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        try file.read { line in
            try receive(SourceRecord(line: Array(line.bytes), at: .line(line.number), share: line.share))
        }
        return ArchiveReport()
    }
}
