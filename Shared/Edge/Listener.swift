import CLinux
import Glibc
import Reactor

/// A failure to listen at an address.
public struct ListenError: Error, CustomStringConvertible {
    let address: String
    let reason: String

    public var description: String { "cannot listen at \(address): \(reason)" }
}

/// A listening socket that calls `accepted` with every connection.
@Reactor
final class Listener: DescriptorHandler {
    private let descriptor: CInt
    private let accepted: @Reactor (StreamSocket, IPAddress?) -> Void
    private var isClosed = false

    /// The connections accepted per turn, so that a burst does not starve the open ones.
    private static let acceptsPerTurn = 64
    private static let backlog: CInt = 4096
    /// How long to wait when the process or the system is out of descriptors or memory.
    private static let pause = Duration.milliseconds(100)

    /// - Parameter address: `host:port`, `[v6]:port`, or a port of 0 for any free one.
    init(_ address: String, accepted: @escaping @Reactor (StreamSocket, IPAddress?) -> Void) throws(ListenError) {
        descriptor = try Self.listen(address)
        self.accepted = accepted
        Reactor.watch(descriptor, for: .read, handler: self)
    }

    /// The port that was bound.
    var port: Int {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutableBytes(of: &address) { bytes in
            _ = getsockname(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return Int(UInt16(bigEndian: address.sin6_port))  // Same offset as in `sockaddr_in`.
    }

    func ready(_: Readiness) {
        for _ in 0..<Self.acceptsPerTurn where !isClosed {
            var peer = sockaddr_storage()
            let connection = accept(&peer)
            if connection >= 0 {
                accepted(StreamSocket(descriptor: connection), IPAddress(peer))
            } else if errno != EINTR, errno != ECONNABORTED {
                return pauseUnlessIdle(errno)
            }
        }
    }

    private func accept(_ peer: inout sockaddr_storage) -> CInt {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &peer) { bytes in
            linux_accept(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
    }

    func close() {
        if isClosed { return }
        isClosed = true
        Reactor.forget(descriptor)
        Glibc.close(descriptor)
    }

    /// Without a pause the loop would spin: the connection that could not be accepted stays ready.
    private func pauseUnlessIdle(_ code: CInt) {
        guard code != EAGAIN else { return }
        Reactor.change(descriptor, to: [])
        Reactor.after(Self.pause) { [self] in
            if !isClosed { Reactor.change(descriptor, to: .read) }
        }
    }

    private static func listen(_ text: String) throws(ListenError) -> CInt {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ListenError(address: text, reason: "it must have the form host:port")
        }
        let host = text[..<colon].trimmingBrackets()
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let first = found else {
            throw ListenError(address: text, reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(first) }
        let descriptor = bind(first.pointee)
        guard descriptor >= 0 else { throw ListenError(address: text, reason: String(cString: strerror(errno))) }
        return descriptor
    }

    /// The listening descriptor, or -1 with `errno`.
    private static func bind(_ address: addrinfo) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.ai_family, type, 0)
        guard descriptor >= 0 else { return -1 }
        // A restart must not wait for connections of the previous process in TIME_WAIT.
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        if Glibc.bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, Glibc.listen(descriptor, backlog) == 0 {
            return descriptor
        }
        let code = errno
        Glibc.close(descriptor)
        errno = code
        return -1
    }
}

extension Substring {
    /// The address in `[::1]`.
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
