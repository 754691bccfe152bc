import Glibc
import Reactor

extension TokenKeySet {
    /// The keys in a file.
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

/// Looks whether a file of keys was changed or replaced, and reads it then. A file that cannot be used changes nothing but
/// is said in the log; it is looked at again when it has changed once more.
@Reactor
public final class TokenKeyFile {
    private static let interval = Duration.seconds(2)

    private struct Stamp: Equatable {
        let device: UInt, inode: UInt, size: Int, seconds: Int, nanoseconds: Int

        /// Of what the path leads to now: container platforms replace a link.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    private let path: String
    private let log: Log
    /// Of the file that was read last, well or not. Nothing was at first: it may have changed since the process began.
    private var stamp: Stamp??
    private let use: @Reactor (TokenKeySet) -> Bool

    /// - Parameter use: takes the keys of the file, and tells whether that changed anything.
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
            if use(keys) { log.info("the keys of tokens have changed", [LogField("keys", keys.entries.count)]) }
        } catch {
            log.error("the file of keys cannot be used, the keys before stay", [LogField("reason", error.description)])
        }
    }
}
