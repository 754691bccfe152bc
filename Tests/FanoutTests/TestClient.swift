import Glibc
import JSON
import Reactor

/// A client's end of a WebSocket, on the reactor. It keeps the text frames it received, in order.
@Reactor
final class TestClient: DescriptorHandler {
    private(set) var frames: [String] = []
    /// The code of the server's close frame.
    private(set) var closeCode: Int?
    private(set) var hasEnded = false
    /// While false, nothing is read from the connection.
    var isReading = true {
        didSet { if isReading != oldValue { Reactor.change(descriptor, to: isReading ? .read : []) } }
    }

    private let descriptor: CInt
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var isUpgraded = false

    init(port: Int) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(result == 0, "the server listens on the loopback interface")
        Reactor.watch(descriptor, for: .read, handler: self)
        write(
            Array(
                """
                GET /v1/socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                Sec-WebSocket-Protocol: parley.v1\r\n\r\n
                """.utf8))
    }

    /// Sends a text frame.
    func say(_ text: String) { sayAll([text]) }

    /// Sends text frames in one write.
    func sayAll(_ texts: [String]) {
        write(texts.flatMap { text in head(0x81, text.utf8.count) + Array(text.utf8) })
    }

    /// Begins a text frame of `bytes` bytes and sends only the first of them.
    func begin(bytes: Int, with first: Int) { write(head(0x81, bytes) + [UInt8](repeating: 0x20, count: first)) }

    func pingOften(_ count: Int) { write((0..<count).flatMap { _ in head(0x89, 0) }) }

    /// The head of a frame, masked with zeros (RFC 6455, 5.3).
    private func head(_ opcode: UInt8, _ count: Int) -> [UInt8] {
        var frame: [UInt8] = [opcode]
        if count < 126 {
            frame.append(0x80 | UInt8(count))
        } else if count < 1 << 16 {
            frame += [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        } else {
            frame += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
        return frame + [0, 0, 0, 0]
    }

    func close() {
        guard !hasEnded else { return }
        hasEnded = true
        Reactor.forget(descriptor)
        Glibc.close(descriptor)
    }

    func frames(of type: String) -> [String] { frames.filter { isFrame($0, of: type) } }

    /// The values of an integer member in the frames of a type, in order of arrival.
    func numbers(_ member: String, in type: String, containing text: String = "") -> [Int64] {
        frames.compactMap { frame in
            guard isFrame(frame, of: type), text.isEmpty || position(of: text, in: frame) != nil else { return nil }
            return number(member, in: frame)
        }
    }

    private func isFrame(_ frame: String, of type: String) -> Bool {
        frame.utf8.starts(with: #"{"type":"\#(type)""#.utf8)
    }

    private func number(_ member: String, in frame: String) -> Int64? {
        let key = #""\#(member)":"#
        guard let start = position(of: key, in: frame) else { return nil }
        let digits = frame.utf8.dropFirst(start + key.utf8.count).prefix { (0x30...0x39).contains($0) }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    /// Returns the offset of a text in bytes. It uses the C library, because tests search thousands of frames
    /// repeatedly on the reactor that they share.
    private func position(of text: String, in frame: String) -> Int? {
        frame.withCString { frame in
            text.withCString { text in strstr(frame, text).map { UnsafePointer($0) - frame } }
        }
    }

    func ready(_: Readiness) {
        guard isReading else { return }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count == 0 { return close() }
        guard count > 0 else { return }
        input += chunk.prefix(count)
        takeFrames()
    }

    private func takeFrames() {
        if !isUpgraded {
            let end = Array("\r\n\r\n".utf8)
            guard let start = input.indices.first(where: { input[$0...].starts(with: end) }) else { return }
            input.removeFirst(start + 4)
            isUpgraded = true
        }
        var position = 0
        while let (opcode, payload, end) = frame(at: position) {
            position = end
            if opcode == 1 { frames.append(String(decoding: payload, as: UTF8.self)) }
            // A client that answers no ping is let go after a minute, and on a busy machine a test may take as long.
            if opcode == 9 { write(head(0x8A, payload.count) + payload) }
            if opcode == 8 { closeCode = payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } }
        }
        input.removeFirst(position)
    }

    private func frame(at start: Int) -> (opcode: UInt8, payload: ArraySlice<UInt8>, end: Int)? {
        guard input.count >= start + 2 else { return nil }
        var length = Int(input[start + 1])
        var position = start + 2
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        guard input.count >= position + extra else { return nil }
        if extra > 0 { length = input[position..<position + extra].reduce(0) { $0 << 8 | Int($1) } }
        position += extra
        guard input.count >= position + length else { return nil }
        return (input[start] & 0x0F, input[position..<position + length], position + length)
    }

    /// Sends what the socket's buffer had no room for, once the server has read some.
    private func write(_ bytes: [UInt8]) {
        output += bytes
        flush()
    }

    private func flush() {
        guard !hasEnded else { return }
        let count = send(descriptor, output, output.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        if count > 0 { output.removeFirst(count) }
        if !output.isEmpty { Reactor.after(.milliseconds(2)) { [weak self] in self?.flush() } }
    }
}
