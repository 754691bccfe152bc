import Models

/// The format `parley`: a record a line.
package struct RecordFile: ArchiveReader, Sendable {
    private let file: LineFile

    package init(path: String) { file = LineFile(path: path) }

    package func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        try file.read { line in
            // A copy of its own: a buffer shared with the file's would have that one's capacity, which grows with each line.
            let bytes = line.bytes.withUnsafeBytes { Array($0) }
            try receive(SourceRecord(line: bytes, at: .line(line.number), share: line.share))
        }
        return ArchiveReport()
    }
}
