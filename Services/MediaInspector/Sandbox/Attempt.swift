import CLinux
import CSeccomp
import Glibc

/// What the sandbox is there to prevent. `media-inspector --attempt NAME` tries one behind the filter that files are looked
/// into, and says so if it lives on: for the tests of the sandbox, `Tests/Inspector/test_sandbox.py`.
enum Attempt: String, CaseIterable {
    case readFile
    case writeFile
    case removeFile
    case readDescriptor
    case socket
    case fork
    case execute
    case kill
    case executableMemory
    case mapFile
    case writeElsewhere

    func run() {
        switch self {
        case .readFile: _ = open("/etc/passwd", O_RDONLY)
        case .writeFile: _ = open("/tmp/parley-attempt", O_WRONLY | O_CREAT, 0o600)
        case .removeFile: unlink("/tmp/parley-attempt")
        case .readDescriptor:
            var byte: UInt8 = 0
            _ = read(0, &byte, 1)
        case .socket: _ = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        case .fork: _ = linux_fork()
        case .execute: execv("/bin/true", [nil])
        case .kill: _ = Glibc.kill(getppid(), 0)
        case .executableMemory: _ = mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        case .mapFile: _ = mmap(nil, 4096, PROT_READ, MAP_PRIVATE, 0, 0)
        case .writeElsewhere: _ = write(0, "", 0)
        }
    }
}
