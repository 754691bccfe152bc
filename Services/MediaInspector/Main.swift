import CLinux
import Glibc

/// media-inspector: looks into one file in a sandbox: what it is, whether it can be shown, and what is shown of it.
///
/// Reads the file on descriptor 0, which must be a regular one, and writes frames (`FrameTag`) on descriptor 1. The service
/// `media` starts it. With `--serve` it stays, and takes files from a socket (`Server`).
@main
enum Main {
    static func main() {
        guard let arguments = Arguments(CommandLine.arguments.dropFirst()) else {
            _ = Arguments.usage.withCString { write(2, $0, strlen($0)) }
            exit(2)
        }
        _ = linux_close_from(3)  // What whoever starts it has open is none of its business.
        nice(10)  // People wait for messages, and less for pictures.
        let inspector = Inspector(arguments)
        if let attempt = arguments.attempt { run(attempt, inspector) }
        if arguments.isServer { Server(inspector: inspector).run() }
        inspector.inspectAndExit()
    }

    private static func run(_ attempt: Attempt, _ inspector: Inspector) -> Never {
        inspector.sandbox.close()
        attempt.run()
        _ = "still alive\n".withCString { write(1, $0, strlen($0)) }
        _exit(0)
    }
}
