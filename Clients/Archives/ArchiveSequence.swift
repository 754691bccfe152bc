/// Several files of one format, read one after the other.
package struct ArchiveSequence: ArchiveReader, Sendable {
    private let files: [(name: String, reader: any ArchiveReader & Sendable)]

    package init(_ files: [(String, any ArchiveReader & Sendable)]) { self.files = files }

    package func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        var report = ArchiveReport()
        for (index, file) in files.enumerated() {
            report.add(
                try file.reader.read { record in
                    guard files.count > 1 else { return try receive(record) }
                    let share = (Double(index) + record.share) / Double(files.count)
                    try receive(record.placed(in: file.name, share: share))
                })
        }
        return report
    }
}
