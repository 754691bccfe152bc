import Glibc

/// A blocking client on a plain socket. It can send what no HTTP library would.
package final class RawClient {
    package struct Failure: Error { let call: String, code: CInt }

    package struct Response: Equatable {
        package var status: Int
        package var head: String
        package var body: String
        /// The value of a header field, or nil.
        package subscript(name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { String($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
        }
    }

    private let descriptor: CInt
    private var received: [UInt8] = []
    private var isOpen = true

    package init(port: Int, receiveBuffer: CInt? = nil) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
    }

    deinit { close() }

    package func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    package func endWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(call: "send", code: errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Receives the next `count` bytes.
    package func receive(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            guard try receiveMore() else { throw Failure(call: "end of stream", code: 0) }
        }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    /// Receives everything up to the end of the stream.
    package func receiveToEnd() throws -> String {
        while try receiveMore() {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// Receives one response. Its length is given by Content-Length; 1xx, 204 and `withoutBody` have no body.
    package func receiveResponse(withoutBody: Bool = false) throws -> Response {
        let end = Array("\r\n\r\n".utf8)
        var headLength: Int?
        while headLength == nil {
            headLength = received.indices.first { received[$0...].starts(with: end) }
            if headLength == nil, try !receiveMore() { throw Failure(call: "end of stream", code: 0) }
        }
        let head = String(decoding: try receive(headLength! + 4), as: UTF8.self)
        var response = Response(status: Int(head.split(separator: " ")[1])!, head: head, body: "")
        if !withoutBody, let length = response["content-length"].flatMap(Int.init) {
            response.body = String(decoding: try receive(length), as: UTF8.self)
        }
        return response
    }

    /// Receives a chunk of a response in chunks. The last one is empty.
    package func receiveChunk() throws -> [UInt8] {
        var line: [UInt8] = []
        repeat { line += try receive(1) } while line.suffix(2) != [13, 10]
        guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else {
            throw Failure(call: "size of a chunk", code: 0)
        }
        let chunk = try receive(size)
        guard try receive(2) == [13, 10] else { throw Failure(call: "end of a chunk", code: 0) }
        return chunk
    }

    /// Receives the rest of a response in chunks.
    package func receiveChunks() throws -> String {
        var body: [UInt8] = []
        while case let chunk = try receiveChunk(), !chunk.isEmpty { body += chunk }
        return String(decoding: body, as: UTF8.self)
    }

    private func receiveMore() throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count >= 0 else { throw Failure(call: "recv", code: errno) }
        received += chunk.prefix(count)
        return count > 0
    }
}

// MARK: WebSocket

extension RawClient {
    package struct Frame: Equatable {
        package var opcode: UInt8
        package var payload: [UInt8]
        package var text: String { String(decoding: payload, as: UTF8.self) }
        package init(opcode: UInt8, payload: [UInt8]) {
            self.opcode = opcode
            self.payload = payload
        }

        /// The status code of a close frame.
        package var code: Int { payload.count < 2 ? 0 : Int(payload[0]) << 8 | Int(payload[1]) }
    }

    package static let handshake = """
        GET /v1/socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: other, parley.v1\r\n\r\n
        """

    package func openWebSocket() throws -> Response {
        try send(Self.handshake)
        return try receiveResponse()
    }

    package func receiveFrame() throws -> Frame {
        let header = try receive(2)
        var length = Int(header[1])
        if length >= 126 { length = try receive(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
        return Frame(opcode: header[0] & 0x0F, payload: try receive(length))
    }
}
