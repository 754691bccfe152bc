import Foundation

/// A file of lines, read in pieces.
struct LineFile {
    struct Line {
        let bytes: ArraySlice<UInt8>
        /// Counted from 1, as editors do.
        let number: Int
        /// How much of the file lies before it, from 0 to 1.
        let share: Double
    }

    let path: String

    private static let maximumLineBytes = 64 * 1024 * 1024
    private static let chunkBytes = 256 * 1024

    init(path: String) { self.path = path }

    /// Reads each line that is not empty. Errors of `receive` are named with their line.
    func read(_ receive: (Line) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw ArchiveError("\(path) cannot be read") }
        defer { try? file.close() }
        let size = Double(max(1, (try? file.seekToEnd()) ?? 1))
        try? file.seek(toOffset: 0)
        var (number, bytesRead) = (0, 0)
        try lines(file) { line in
            number += 1
            let share = min(1, Double(bytesRead) / size)
            bytesRead += line.count + 1
            guard !line.isEmpty else { return }
            do {
                try receive(Line(bytes: line, number: number, share: share))
            } catch let error as ArchiveError {
                throw ArchiveError("\(path), line \(number): \(error)")
            }
        }
    }

    private func lines(_ file: FileHandle, _ receive: (ArraySlice<UInt8>) throws -> Void) throws {
        var rest: [UInt8] = []
        while let chunk = try file.read(upToCount: Self.chunkBytes), !chunk.isEmpty {
            // What has come of a line before is not searched again.
            for part in chunk.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                if part.startIndex > chunk.startIndex {
                    try receive(rest[...])
                    rest.removeAll(keepingCapacity: true)
                }
                rest += part
            }
            guard rest.count <= Self.maximumLineBytes else {
                throw ArchiveError("\(path): a line is longer than 64 MiB")
            }
        }
        if !rest.isEmpty { try receive(rest[...]) }
    }
}
