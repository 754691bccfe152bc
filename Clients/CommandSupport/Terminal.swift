import Glibc

/// Standard output and standard error, written unbuffered. Output survives a crash or Ctrl-C, and reaches a pipe line
/// by line.
package enum Terminal {
    package static let isInteractive = isatty(STDERR_FILENO) == 1

    /// Prints a line of results.
    package static func say(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Prints a line about the work, such as progress or an error.
    package static func tell(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Replaces the current line on standard error.
    package static func replaceLine(_ line: String) { write("\r\u{1B}[K\(line)", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
