import Foundation
import Models

/// The folder beside the database with the files of messages. Each has a name of its own, which a row has.
package struct FileFolder: Hashable, Sendable {
    package let path: String

    init(ofDatabase path: String) { self.path = path + ".files" }

    package func url(_ name: String) -> URL { URL(fileURLWithPath: path).appendingPathComponent(name) }

    private static let pieceBytes = 1024 * 1024

    /// Runs what may wait for the disk for long. The threads of tasks are as few as the processors, and the engine needs
    /// one of them.
    package static func patiently<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async { continuation.resume(returning: body()) }
        }
    }

    // MARK: Files of the user

    /// Copies a file of the user, so that they may do with theirs what they like. It is on the disk when this returns.
    ///
    /// - Returns: how many bytes it has.
    package func copy(_ original: URL, as name: String, limit: Int64) throws(FileProblem) -> Int64 {
        do {
            let source = original.resolvingSymlinksInPath()
            guard try source.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
                throw FileProblem.unreadable(name: original.lastPathComponent)
            }
            let reader = try FileHandle(forReadingFrom: source)
            defer { try? reader.close() }
            do {
                return try copy(from: reader, to: try create(name), limit: limit, original.lastPathComponent)
            } catch {
                remove(name)
                throw error
            }
        } catch let problem as FileProblem {
            throw problem
        } catch {
            throw .unreadable(name: original.lastPathComponent)
        }
    }

    private func copy(from reader: FileHandle, to writer: FileHandle, limit: Int64, _ name: String) throws -> Int64 {
        defer { try? writer.close() }
        var size: Int64 = 0
        while let piece = try reader.read(upToCount: Self.pieceBytes), !piece.isEmpty {
            size += Int64(piece.count)
            guard size <= limit else { throw FileProblem.tooLarge(name: name, limit: limit) }
            do { try writer.write(contentsOf: piece) } catch { throw FileProblem.noRoom(name: name) }
        }
        try writer.synchronize()
        return size
    }

    /// Creates the folder, if it is not there, once: after the user has signed out, what is still being written must not
    /// bring it back.
    package func create() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Creates a file that only this user reads.
    private func create(_ name: String) throws -> FileHandle {
        let url = url(name)
        guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else {
            throw FileProblem.noRoom(name: name)
        }
        return try FileHandle(forWritingTo: url)
    }

    // MARK: Pieces

    /// Reads a part of a file. Throws if there is less.
    package func read(_ name: String, from offset: Int64, count: Int) throws -> Data {
        let file = try FileHandle(forReadingFrom: url(name))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        let piece = try file.read(upToCount: count) ?? Data()
        guard piece.count == count else { throw FileProblem.unreadable(name: name) }
        return piece
    }

    /// The size of a file; nil if there is none.
    package func size(of name: String) -> Int64? {
        (try? FileManager.default.attributesOfItem(atPath: url(name).path))?[.size].flatMap { $0 as? NSNumber }?
            .int64Value
    }

    package func createEmpty(_ name: String) throws { try create(name).close() }

    /// Adds to the end of a file that is there.
    package func append(_ piece: Data, to name: String) throws {
        let file = try FileHandle(forWritingTo: url(name))
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: piece)
    }

    /// Returns when a file is on the disk.
    package func synchronize(_ name: String) throws {
        let file = try FileHandle(forWritingTo: url(name))
        defer { try? file.close() }
        try file.synchronize()
    }

    /// Calls `body` with each piece of a file.
    package func forEachPiece(of name: String, _ body: (Data) -> Void) throws {
        let file = try FileHandle(forReadingFrom: url(name))
        defer { try? file.close() }
        while let piece = try file.read(upToCount: Self.pieceBytes), !piece.isEmpty { body(piece) }
    }

    // MARK: Removing

    package func remove(_ name: String) { try? FileManager.default.removeItem(at: url(name)) }

    /// First out of the way of whoever still writes, so that the folder is empty when it goes.
    func removeAll() throws {
        let files = FileManager.default, aside = path + ".removed"
        if files.fileExists(atPath: aside) { try files.removeItem(atPath: aside) }
        guard files.fileExists(atPath: path) else { return }
        try files.moveItem(atPath: path, toPath: aside)
        try files.removeItem(atPath: aside)
    }

    /// The files that were there before this time.
    package func names(before time: Date) -> [String] {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey]
        let urls = try? FileManager.default.contentsOfDirectory(
            at: URL(fileURLWithPath: path), includingPropertiesForKeys: Array(keys))
        return (urls ?? []).filter { url in
            (try? url.resourceValues(forKeys: keys).contentModificationDate).flatMap { $0 }.map { $0 < time } ?? false
        }.map(\.lastPathComponent)
    }
}

/// Why a file cannot be sent.
public enum FileProblem: Error, Hashable, Sendable {
    /// It is not there, may not be read, or is no file.
    case unreadable(name: String)
    /// The server takes files of so many bytes.
    case tooLarge(name: String, limit: Int64)
    /// A message has so many files.
    case tooMany(limit: Int)
    /// There is no space left on this device.
    case noRoom(name: String)
}
