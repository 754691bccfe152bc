import Foundation
import Models

/// The format `parley`: a record a line.
package struct RecordFile: ArchiveReader, Sendable {
    private let path: String

    /// Texts of revisions make the longest lines.
    private static let maximumLineBytes = 64 * 1024 * 1024
    private static let chunkBytes = 256 * 1024

    package init(path: String) { self.path = path }

    package func read(_ receive: (ImportRecord) throws -> Void) throws -> ArchiveReport {
        guard let file = FileHandle(forReadingAtPath: path) else { throw ArchiveError("\(path) cannot be read") }
        defer { try? file.close() }
        let coding = RecordLine()
        var number = 0
        try Self.lines(file) { line in
            number += 1
            do {
                try receive(try coding.record(line))
            } catch let error as ArchiveError {
                throw ArchiveError("\(path), line \(number): \(error)")
            }
        }
        return ArchiveReport()
    }

    private static func lines(_ file: FileHandle, _ receive: (ArraySlice<UInt8>) throws -> Void) throws {
        var rest: [UInt8] = []
        while let chunk = try file.read(upToCount: chunkBytes), !chunk.isEmpty {
            // What has come of a line before is not searched again.
            for part in chunk.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                if part.startIndex > chunk.startIndex {
                    if !rest.isEmpty { try receive(rest[...]) }
                    rest.removeAll(keepingCapacity: true)
                }
                rest += part
            }
            guard rest.count <= maximumLineBytes else { throw ArchiveError("a line is longer than 64 MiB") }
        }
        if !rest.isEmpty { try receive(rest[...]) }
    }
}
