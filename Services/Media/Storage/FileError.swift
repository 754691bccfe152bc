import Glibc

/// A call of the operating system, or of a server that files are sent to, that failed.
struct FileError: Error, CustomStringConvertible {
    let operation: StaticString
    /// As in `errno`, for a server too: `ENOENT` for what it does not have.
    let code: CInt
    /// What is known of a server's failure; nil for a call of the operating system.
    let detail: String?

    init(_ operation: StaticString, _ code: CInt = errno) {
        self.operation = operation
        self.code = code
        detail = nil
    }

    init(server operation: StaticString, _ code: CInt = EIO, _ detail: String) {
        self.operation = operation
        self.code = code
        self.detail = detail
    }

    var description: String { "\(operation): \(detail ?? String(cString: strerror(code)))" }
    var isFull: Bool { code == ENOSPC || code == EDQUOT }
    var isLocked: Bool { code == EWOULDBLOCK }
    var isMissing: Bool { code == ENOENT }
    /// Whether a server is not there at all.
    var isAway: Bool { detail != nil && (code == ECONNREFUSED || code == ETIMEDOUT) }
    /// Whether it may be due to the file itself. Anything else is tried again until it works.
    var isOfFile: Bool { isMissing || code == EPROTO }
}
