import CLinux
import Glibc
import Models
import Postgres
import ServiceKit

/// `media collect [--dry-run] [--older-than 24h]`: removes files that no row names, such as those of a process that died
/// between writing and noting. It may run beside the service, whose files have a row soon after they are written.
struct CollectCommand {
    private static let namesAtOnce = 500

    private var isDry = false
    private var age = Duration.seconds(24 * 3600)

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
        guard let command = CollectCommand(arguments) else {
            fail("usage: media collect [--dry-run] [--older-than 24h]")
        }
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

    private func collect(_ storage: FileStorage, _ connection: BlockingConnection) throws {
        var count = 0, bytes: Int64 = 0
        for folder in storage.folders {
            let found = oldFiles(in: folder)
            for start in stride(from: 0, to: found.count, by: Self.namesAtOnce) {
                let some = found[start..<min(start + Self.namesAtOnce, found.count)]
                let kept = try keptNames(some.compactMap { FileName($0.name)?.id }, connection)
                for file in some where !kept.contains(file.name) {
                    print(isDry ? "would remove" : "removes", file.path, file.size)
                    if !isDry, unlink(file.path) != 0, errno != ENOENT { throw FileError("unlink") }
                    count += 1
                    bytes += file.size
                }
            }
        }
        print("\(count) files, \(bytes) bytes")
    }

    private struct Found {
        let name: String
        let path: String
        let size: Int64
    }

    private func oldFiles(in folder: String) -> [Found] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var found: [Found] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var facts = stat()
            guard lstat("\(folder)/\(name)", &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
                facts.st_ctim.tv_sec <= time(nil) - Int(age.components.seconds)
            else { continue }
            found.append(Found(name: name, path: "\(folder)/\(name)", size: Int64(facts.st_size)))
        }
        return found
    }

    /// The names of the files that the rows of these ids have.
    private func keptNames(_ ids: [MediaID], _ connection: BlockingConnection) throws -> Set<String> {
        let columns = MediaStatements.kept.columns
        let rows = try connection.query(MediaStatements.kept) { parameters, input in
            parameters.set(input.slots, to: ids.map(\.slot))
            parameters.set(input.media, to: ids)
        }
        var names: Set<String> = []
        for row in rows {
            let id = row[columns.id]
            names.insert(FileName(id).description)
            guard let version = row[columns.version] else { continue }
            for part in ObjectPart.allCases { names.insert(FileName(id, version, part).description) }
        }
        return names
    }
}
