import Glibc
import Reactor

extension TokenKeySet {
    /// Reads the keys in a file.
    init(file path: String) throws(TokenKeyError) {
        guard let bytes = readFile(path, upTo: Self.maximumFileBytes + 1) else {
            throw .keySet("must name a readable file: \(path): \(String(cString: strerror(errno)))")
        }
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(TokenKeyError) in try TokenKeySet(jsonWebKeySet: bytes) }
        }
        self = try result.get()
    }
}

/// Reloads a key file when it was changed or replaced. A file that cannot be used is logged and changes nothing; it is
/// read again when it has changed again.
@Reactor
public final class TokenKeyFile {
    private static let interval = Duration.seconds(2)

    private struct Stamp: Equatable {
        let device: UInt, inode: UInt, size: Int, seconds: Int, nanoseconds: Int

        /// Stats the target of the path: container platforms replace a symbolic link.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    private let path: String
    private let log: Log
    /// The stamp of the file read last, valid or not. Initially nil: the file may have changed since the process
    /// started.
    private var stamp: Stamp??
    private let use: @Reactor (TokenKeySet) -> Bool

    /// - Parameter use: uses the keys of the file, and returns whether they changed anything.
    public init(_ path: String, log: Log, use: @escaping @Reactor (TokenKeySet) -> Bool) {
        self.path = path
        self.log = log
        self.use = use
    }

    public func watch() { Reactor.every(Self.interval) { [self] in look() } }

    func look() {
        let current = Stamp(path)
        guard stamp != .some(current) else { return }
        stamp = .some(current)
        do throws(TokenKeyError) {
            let keys = try TokenKeySet(file: path)
            if use(keys) { log.info("token keys changed", [LogField("keys", keys.entries.count)]) }
        } catch {
            log.error("the key file cannot be used, the previous keys stay", [LogField("reason", error.description)])
        }
    }
}
