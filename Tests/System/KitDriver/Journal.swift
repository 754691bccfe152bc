import Foundation

/// Lines in a file, each there before the next thing happens: what is written survives the process.
final class Journal {
    private let file: FileHandle
    /// Of the message that was begun last.
    private(set) var lastNumber = 0

    init(_ url: URL) throws {
        let earlier = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
        for line in earlier.split(separator: "\n") where line.hasPrefix("begin ") {
            lastNumber = max(lastNumber, Int(line.dropFirst("begin ".count)) ?? 0)
        }
        if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
        file = try FileHandle(forWritingTo: url)
        try file.seekToEnd()
    }

    func nextNumber() throws -> Int {
        lastNumber += 1
        try write("begin \(lastNumber)")
        return lastNumber
    }

    func write(_ line: String) throws { try file.write(contentsOf: Data("\(line)\n".utf8)) }
}
