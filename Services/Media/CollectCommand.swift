import Glibc
import Models
import Postgres
import ServiceKit

/// `media collect [--dry-run] [--older-than 24h]`: removes files that no row names, such as those of a process that died
/// between writing and noting, and aborts what was begun in parts in an object store. It may run beside the service: what
/// is about to be noted stays, however old. It also names what rows have and the storage lacks.
struct CollectCommand {
    private static let namesAtOnce = 500

    private var isDry = false
    private var age = Duration.seconds(24 * 3600)
    private var count = 0
    private var bytes: Int64 = 0
    private var missing = 0

    /// Nil for other arguments.
    init?(_ arguments: ArraySlice<String>) {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--dry-run": isDry = true
            case "--older-than":
                guard let age = arguments.next().flatMap({ Duration(text: $0) }) else { return nil }
                self.age = age
            default: return nil
            }
        }
    }

    static func run(_ arguments: ArraySlice<String>) -> Never {
        guard var command = CollectCommand(arguments) else {
            fail("usage: media collect [--dry-run] [--older-than 24h]")
        }
        // libcurl leaves it to its caller.
        signal(SIGPIPE, SIG_IGN)
        var environment = Environment.process
        do {
            let storage = try environment.mediaStorage()
            let connection = try BlockingConnection(
                url: try environment.requiredString("PARLEY_DATABASE_URL"), applicationName: "parley-media-collect")
            try command.collect(storage, connection)
        } catch { fail("\(error)") }
        exit(0)
    }

    private static func fail(_ reason: String) -> Never {
        let line = Array("collect: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }

    private mutating func collect(_ storage: MediaStorage, _ connection: BlockingConnection) throws {
        let uploads = storage.uploads, objects = storage.objects
        for (number, folder) in objectFolders.enumerated() {
            // Before the storage is looked at: what has a row by then is there, or was removed with it.
            var expected: [KeptObject] = []
            try connection.forEachKept(in: number) { expected.append($0) }
            for file in try orphans(among: uploads.waiting(in: folder), connection) {
                try collect(uploads.address(ofWaiting: file, in: folder), file.size) {
                    try uploads.remove(waiting: file, in: folder)
                }
            }
            let found = try objects.objects(in: folder)
            for object in try orphans(among: found, connection) {
                try collect(objects.address(of: object), object.size) { try objects.remove(object) }
            }
            try nameMissing(of: expected, among: found, connection)
        }
        // No row names what is only on its way.
        for file in try uploads.waiting(in: FileStorage.staging) where isOld(file.modifiedAt) {
            try collect(uploads.address(ofWaiting: file, in: FileStorage.staging), file.size) {
                try uploads.remove(waiting: file, in: FileStorage.staging)
            }
        }
        if let store = storage.store { try collectPending(in: store) }
        print("\(count) files, \(bytes) bytes; \(missing) missing")
    }

    private mutating func nameMissing(
        of expected: [KeptObject], among found: [StoredObject], _ connection: BlockingConnection
    ) throws {
        let sizes = Dictionary(found.map { ($0.name, $0.size) }, uniquingKeysWith: max)
        for object in expected {
            let lacking = object.parts.filter { !object.has($0, among: sizes) }
            guard !lacking.isEmpty, try connection.isKept(object) else { continue }
            for part in lacking { print("missing", object.name(part)) }
            missing += lacking.count
        }
    }

    private mutating func collectPending(in store: S3Storage) throws {
        for upload in try store.pendingUploads() where isOld(upload.begunAt) {
            try collect("parts of \(upload.key)", 0) { try store.abort(upload) }
        }
    }

    private mutating func collect(_ address: String, _ size: Int64, _ remove: () throws -> Void) throws {
        print(isDry ? "would remove" : "removes", address, size)
        if !isDry { try remove() }
        count += 1
        bytes += size
    }

    private func isOld(_ seconds: Int64) -> Bool { seconds <= Int64(time(nil)) - age.components.seconds }

    /// Those that are old and needed by no row. What rows say is found out after the list was made.
    private func orphans(
        among objects: [StoredObject], _ connection: BlockingConnection
    ) throws -> [StoredObject] {
        let old = objects.filter { isOld($0.modifiedAt) }
        return try stride(from: 0, to: old.count, by: Self.namesAtOnce).flatMap { start in
            let some = old[start..<min(start + Self.namesAtOnce, old.count)]
            let needed = try needed(some.compactMap { FileName($0.name)?.id }, connection)
            return some.filter { object in
                guard let name = FileName(object.name) else { return true }
                return needed[name.id]?.includes(name) != true
            }
        }
    }

    /// What the row of a file needs.
    private enum Needed {
        case upload
        /// The upload, and any version: the row is about to name one.
        case all
        case version(Int64)
        case nothing

        func includes(_ name: FileName) -> Bool {
            switch self {
            case .upload: name.kept == nil
            case .all: true
            case .version(let version): name.kept?.version == version
            case .nothing: false
            }
        }
    }

    private func needed(_ ids: [MediaID], _ connection: BlockingConnection) throws -> [MediaID: Needed] {
        let columns = MediaStatements.kept.columns
        let rows = try connection.query(MediaStatements.kept) { parameters, input in
            parameters.set(input.slots, to: ids.map(\.slot))
            parameters.set(input.media, to: ids)
        }
        let pairs = rows.map { row in
            let needed: Needed =
                switch row[columns.state] {
                case .uploading: .upload
                case .processing: .all
                // A removed one is the service's to remove.
                case .ready, .refused, .deleted: row[columns.version].map { .version($0) } ?? .nothing
                }
            return (row[columns.id], needed)
        }
        return Dictionary(pairs) { first, _ in first }
    }
}
