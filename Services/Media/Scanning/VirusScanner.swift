import CLinux
import Glibc

/// Has files scanned by clamd, which may be on another machine.
///
/// Nothing passes that it has not called clean. Its calls wait, for `secondsLimit` at most without a sign of life: a
/// `FilePool` makes them.
struct VirusScanner: Sendable, CustomStringConvertible {
    enum Address: Equatable, Sendable {
        case local(path: String)
        case network(host: String, port: String)
    }

    private static let replyBytes = 1024

    let address: Address
    private let secondsLimit: Int

    /// - Parameters:
    ///   - text: `unix:/run/clamav/clamd.ctl` or `tcp://127.0.0.1:3310`.
    ///   - secondsLimit: as clamd's `MaxScanTime` has it, if nobody configures another.
    init?(_ text: String, secondsLimit: Int = 120) {
        self.secondsLimit = secondsLimit
        if text.hasPrefix("unix:/") {
            // As long as an address of a socket may be.
            guard text.utf8.count <= 5 + 107, !text.utf8.contains(0) else { return nil }
            address = .local(path: String(text.dropFirst(5)))
        } else {
            guard text.hasPrefix("tcp://"), let colon = text.lastIndex(of: ":") else { return nil }
            let host = text[
                text.index(text.startIndex, offsetBy: 6)..<max(colon, text.index(text.startIndex, offsetBy: 6))]
            let port = text[text.index(after: colon)...]
            guard !host.isEmpty, let number = UInt16(port), number > 0 else { return nil }
            address = .network(host: host.filter { $0 != "[" && $0 != "]" }, port: String(number))
        }
    }

    var description: String {
        switch address {
        case .local(let path): "unix:\(path)"
        case .network(let host, let port): "tcp://\(host):\(port)"
        }
    }

    func scan(_ file: OpenFile) throws(FileError) -> ScanVerdict {
        let connection = try connect()
        do throws(FileError) {
            try send(Array("zINSTREAM\0".utf8), to: connection)
            try FileStorage.forEachPiece(of: file, 0, try file.size()) { bytes throws(FileError) in
                try send(Self.head(bytes.count), to: connection)
                try send(bytes, to: connection)
            }
            try send(Self.head(0), to: connection)
        } catch {
            // It closes the connection once it has heard enough, and has said why.
            guard error.code == EPIPE || error.code == ECONNRESET else { throw error }
        }
        let verdict = ScanVerdict(reply: try reply(from: connection))
        // It is there and cannot scan this file: that may be due to the file.
        guard verdict != .failed else { throw FileError(server: "clamd", EPROTO, "it could not scan the file") }
        return verdict
    }

    /// The length of a piece; zero ends the file.
    private static func head(_ count: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
    }

    // MARK: The connection

    private func connect() throws(FileError) -> OpenFile {
        switch address {
        case .local(let path): try connect(toSocketAt: path)
        case .network(let host, let port): try connect(to: host, port)
        }
    }

    private func connect(toSocketAt path: String) throws(FileError) -> OpenFile {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try withUnsafeBytes(of: &address) { bytes throws(FileError) in
            try connect(AF_UNIX, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t(bytes.count))
        }
    }

    private func connect(to host: String, _ port: String) throws(FileError) -> OpenFile {
        var hints = addrinfo(), found: UnsafeMutablePointer<addrinfo>?
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        guard getaddrinfo(host, port, &hints, &found) == 0, let found else {
            throw FileError(server: "clamd", EHOSTUNREACH, "its name has no address")
        }
        defer { freeaddrinfo(found) }
        var next: UnsafeMutablePointer<addrinfo>? = found,
            failure = FileError(server: "clamd", EHOSTUNREACH, "its name has no address")
        while let one = next {
            do throws(FileError) {
                return try connect(one.pointee.ai_family, one.pointee.ai_addr, one.pointee.ai_addrlen)
            } catch { failure = error }
            next = one.pointee.ai_next
        }
        throw failure
    }

    private func connect(
        _ family: CInt, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
    ) throws(FileError) -> OpenFile {
        let descriptor = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw FileError("socket") }
        let connection = OpenFile(descriptor: descriptor)
        // Linux has it limit `connect`, too.
        var limit = timeval(tv_sec: secondsLimit, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard Glibc.connect(descriptor, address, length) == 0 else { throw Self.away(errno) }
        return connection
    }

    private static func away(_ code: CInt) -> FileError {
        FileError(server: "clamd", code == ENOENT ? ECONNREFUSED : code, String(cString: strerror(code)))
    }

    /// What is wrong if no reply came: this file, if clamd has died of it or still answers others, or clamd.
    private func failure(_ code: CInt) -> FileError {
        let isOfFile = code != EWOULDBLOCK || isAnswering
        return FileError(server: "clamd", isOfFile ? EPROTO : ETIMEDOUT, String(cString: strerror(code)))
    }

    private var isAnswering: Bool {
        guard let connection = try? connect(), (try? send(Array("zPING\0".utf8), to: connection)) != nil else {
            return false
        }
        var answer = [UInt8](repeating: 0, count: 5)
        return read(connection.descriptor, &answer, answer.count) > 0
    }

    private func send(_ bytes: [UInt8], to connection: OpenFile) throws(FileError) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(FileError) in try send(bytes, to: connection) }
        }
        try result.get()
    }

    private func send(_ bytes: UnsafeRawBufferPointer, to connection: OpenFile) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = Glibc.send(
                connection.descriptor, bytes.baseAddress! + done, bytes.count - done, CInt(MSG_NOSIGNAL))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.away(errno) }
            done += count
        }
    }

    private func reply(from connection: OpenFile) throws(FileError) -> String {
        var text: [UInt8] = []
        while text.last != 0, text.count < Self.replyBytes {
            var bytes = [UInt8](repeating: 0, count: Self.replyBytes)
            let count = read(connection.descriptor, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            guard count > 0 else { break }
            text += bytes[..<count]
        }
        return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }
}
