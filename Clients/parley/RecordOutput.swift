import Archives
import Glibc

/// A file of records. It has its name when it is complete.
final class RecordOutput {
    private let path: String
    private let file: UnsafeMutablePointer<FILE>
    private let isStandardOutput: Bool

    private var partial: String { path + ".part" }

    init(_ path: String) throws {
        self.path = path
        isStandardOutput = path == "-"
        let name = isStandardOutput ? "/dev/stdout" : path + ".part"
        guard let file = isStandardOutput ? fdopen(dup(STDOUT_FILENO), "w") : fopen(name, "w") else {
            throw ArchiveError("\(name) cannot be written: \(String(cString: strerror(errno)))")
        }
        self.file = file
    }

    func write(_ line: [UInt8]) throws {
        guard fwrite(line, 1, line.count, file) == line.count, putc(0x0A, file) >= 0 else { throw failure }
    }

    func finish() throws {
        guard fflush(file) == 0 else { throw failure }
        guard isStandardOutput || rename(partial, path) == 0 else { throw failure }
    }

    deinit { fclose(file) }

    private var failure: ArchiveError {
        ArchiveError("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
