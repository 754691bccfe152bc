import Glibc
import JSON
import Models
import Postgres
import ServiceKit
import Synchronization

/// `media copy --to s3://bucket [--from file:///…] [--parallel 4] [--verify]`: copies what is kept to another storage.
///
/// It copies what the other storage lacks, so it goes on where an earlier one ended, and a second one after the service has
/// stopped takes what came meanwhile. Each copy is read again and compared by its SHA-256, contents with that of their row;
/// with `--verify` also what was there, and what differs is copied again.
struct CopyCommand: Sendable {
    private var source: String?
    private var target = ""
    private var workers = 4
    private var isVerifying = false

    /// Nil for other arguments.
    init?(_ arguments: ArraySlice<String>) {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            if argument == "--verify" {
                isVerifying = true
                continue
            }
            guard let value = arguments.next() else { return nil }
            switch argument {
            case "--to": target = value
            case "--from": source = value
            case "--parallel":
                guard let workers = Int(value), (1...64).contains(workers) else { return nil }
                self.workers = workers
            default: return nil
            }
        }
        if target.isEmpty { return nil }
    }

    static func run(_ arguments: ArraySlice<String>) -> Never {
        guard let command = CopyCommand(arguments) else {
            fail("usage: media copy --to URL [--from URL] [--parallel 4] [--verify]")
        }
        // libcurl leaves it to its caller.
        signal(SIGPIPE, SIG_IGN)
        do {
            let work = try command.work()
            work.run(threads: command.workers)
            print(work.report)
            exit(work.hasFailed ? 1 : 0)
        } catch { fail("\(error)") }
    }

    private static func fail(_ reason: String) -> Never {
        let line = Array("copy: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }

    private func work() throws -> CopyWork {
        var environment = Environment.process
        let settings = try StorageSettings(environment: &environment)
        let from = try source.map { try settings.storage(at: $0, named: "--from") } ?? settings.storage()
        let to = try settings.storage(at: target, named: "--to")
        guard from.description != to.description else { throw ConfigurationError("--to", "must be another storage") }
        for storage in [from, to] {
            try storage.prepare()
            try storage.objects.check()
        }
        return CopyWork(
            from, to, isVerifying: isVerifying, databaseURL: try environment.requiredString("PARLEY_DATABASE_URL"))
    }
}

/// A copy that some threads work on, each in one folder at a time.
private final class CopyWork: Sendable {
    private struct Progress {
        var next = 0
        var copied = 0
        var copiedBytes: Int64 = 0
        var there = 0
        var failures = 0
        /// Set by what ends all of it.
        var isEnding = false
    }

    private let source: MediaStorage
    private let target: MediaStorage
    private let isVerifying: Bool
    private let databaseURL: String
    private let progress = Mutex(Progress())

    init(_ source: MediaStorage, _ target: MediaStorage, isVerifying: Bool, databaseURL: String) {
        self.source = source
        self.target = target
        self.isVerifying = isVerifying
        self.databaseURL = databaseURL
    }

    var hasFailed: Bool { progress.withLock { $0.failures > 0 || $0.isEnding } }

    var report: String {
        progress.withLock {
            "\($0.copied) copied, \($0.copiedBytes) bytes; \($0.there) were there; \($0.failures) failed"
        }
    }

    func run(threads count: Int) {
        var threads = [pthread_t](repeating: pthread_t(), count: count)
        for index in 0..<count {
            let result = pthread_create(
                &threads[index], nil,
                { work in
                    Unmanaged<CopyWork>.fromOpaque(work!).takeRetainedValue().work()
                    return nil
                }, Unmanaged.passRetained(self).toOpaque())
            precondition(result == 0, "a thread could not be started")
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    private func work() {
        do {
            let connection = try BlockingConnection(url: databaseURL, applicationName: "parley-media-copy")
            while let folder = nextFolder() { try copy(folder, connection) }
        } catch {
            progress.withLock { $0.isEnding = true }
            say("ends", "\(error)")
        }
    }

    private func nextFolder() -> Int? {
        progress.withLock {
            guard !$0.isEnding, $0.next < objectFolders.count else { return nil }
            $0.next += 1
            return $0.next - 1
        }
    }

    private func say(_ name: String, _ reason: String) {
        let line = Array("copy: \(name): \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    // MARK: One folder

    private func copy(_ folder: Int, _ connection: BlockingConnection) throws {
        let there = Dictionary(
            try target.objects.objects(in: objectFolders[folder]).map { ($0.name, $0.size) }, uniquingKeysWith: max)
        try connection.forEachKept(in: folder) { object in
            for part in object.parts { try copy(object, part, there, connection) }
        }
    }

    private func copy(
        _ object: KeptObject, _ part: ObjectPart, _ there: [String: Int64], _ connection: BlockingConnection
    ) throws {
        let name = object.name(part), sha256 = part == .content ? object.sha256 : nil
        do throws(FileError) {
            if object.has(part, among: there), isVerifying ? try isCopied(name, sha256: sha256) : true {
                return progress.withLock { $0.there += 1 }
            }
            let size = try copy(name, sha256: sha256)
            progress.withLock {
                $0.copied += 1
                $0.copiedBytes += size
            }
        } catch {
            // Removed in the meantime.
            if error.isMissing, try !connection.isKept(object) { return }
            // What is only of this object lets the others go on.
            guard error.isOfFile else { throw error }
            progress.withLock { $0.failures += 1 }
            say(name.description, error.description)
        }
    }

    // MARK: One object

    /// - Parameter sha256: that it must have; nil where no row says it.
    /// - Returns: its size.
    private func copy(_ name: FileName, sha256: String?) throws(FileError) -> Int64 {
        let file = try whole(name, in: source.objects), size = try file.size()
        let digest = try Self.digest(file)
        guard sha256 == nil || digest == sha256 else {
            throw FileError(server: "copy", EPROTO, "the source is damaged: it has another SHA-256 than its row says")
        }
        try target.objects.put(name, file)
        guard try self.digest(name, in: target.objects) == digest else {
            // The next copy must not take it for one that is there.
            try target.objects.remove(StoredObject(path: name.path, size: size, modifiedAt: 0))
            throw FileError(server: "copy", EPROTO, "what was copied has another SHA-256")
        }
        return size
    }

    private func isCopied(_ name: FileName, sha256: String?) throws(FileError) -> Bool {
        let expected = if let sha256 { sha256 } else { try digest(name, in: source.objects) }
        return try digest(name, in: target.objects) == expected
    }

    private func digest(_ name: FileName, in objects: any ObjectStorage) throws(FileError) -> String {
        try Self.digest(try whole(name, in: objects))
    }

    private static func digest(_ file: OpenFile) throws(FileError) -> String {
        ContentDigest.hex(try FileStorage.digest(file, count: try file.size()))
    }

    private func whole(_ name: FileName, in objects: any ObjectStorage) throws(FileError) -> OpenFile {
        let first = try objects.openObject(name, at: 0, count: ObjectWindow.firstBytes)
        guard first.end < first.size else { return first.file }
        var end = first.end
        while end < first.size {
            let window = try objects.openObject(name, at: end, count: ObjectWindow.furtherBytes)
            try FileStorage.append(window.file, to: first.file, at: end, count: window.end - window.start)
            end = window.end
        }
        return first.file
    }
}
