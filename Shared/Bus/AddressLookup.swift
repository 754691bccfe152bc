import CLinux
import Glibc
import Reactor

/// Resolves configured endpoints to the addresses that ZeroMQ connects to.
enum AddressLookup {
    /// The UNIX sockets whose paths match a pattern at this moment.
    static func matches(_ pattern: String) -> Set<String> {
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(pattern, GLOB_NOSORT, nil, &result) == 0 else { return [] }
        return Set((0..<Int(result.gl_pathc)).map { "ipc://" + String(cString: result.gl_pathv[$0]!) })
    }

    /// The address itself when `host` is a literal IP address; nil when it is a name.
    static func literal(_ host: String, _ port: UInt16) -> Set<String>? {
        addresses(host, port, flags: AI_NUMERICHOST)
    }

    /// Looks up all addresses of a name; the result is nil when it cannot be resolved at the moment. The lookup blocks
    /// for as long as DNS takes. It therefore runs on its own thread, which passes the result to the reactor. The
    /// caller starts no second lookup of a name before the first has a result, which bounds the number of threads.
    static func resolve(_ name: String, _ port: UInt16, then: @escaping @Reactor @Sendable (Set<String>?) -> Void) {
        runOnThread {
            let found = addresses(name, port, flags: 0)
            Reactor.spawn { then(found) }
        }
    }

    private static func addresses(_ host: String, _ port: UInt16, flags: CInt) -> Set<String>? {
        var hints = addrinfo()
        hints.ai_flags = flags
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        return Set(sequence(first: list!, next: { $0.pointee.ai_next }).compactMap { endpoint(of: $0.pointee, port) })
    }

    private static func endpoint(of address: addrinfo, _ port: UInt16) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = getnameinfo(
            address.ai_addr, address.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard result == 0 else { return nil }
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
    }

    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func runOnThread(_ body: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { pointer in
                // Blocked here, because the reactor receives the process's signals (signalfd).
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_SETMASK, &all, nil)
                Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(result == 0, "the system grants a thread")
        pthread_detach(thread)
    }
}
