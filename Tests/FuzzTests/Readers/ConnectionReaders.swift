import TestSupport

@testable import Edge

/// What arrives on a connection, in whatever pieces. However a stream is cut into reads, the same comes out of it:
/// otherwise a proxy in front of a service and the service could disagree about where a request ends.
extension Reader {
    static let http = Reader(
        "http",
        """
        GET /v1/limits?a=b HTTP/1.1\r\nHost: h\r\nauthorization:  Bearer x \r\nX-Long-Name-That-Nobody-Asks-For: 1\r\n\r\n\
        POST /two HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world
        """,
        """
        PUT /three HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n\
        5;name=value\r\nchunk\r\n3\r\ned!\r\n0\r\nAuthorization: trailer\r\n\r\n\
        DELETE /four HTTP/1.0\r\nAUTHORIZATION: y\r\nConnection: close\r\n\r\n
        """,
        """
        GET /v1/socket HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: a, parley.v1\r\nSec-WebSocket-Protocol: b\r\n\r\n
        """
    ) { bytes in
        let whole = RequestsSeen(in: [Array(bytes)])
        let pieces = RequestsSeen(in: bytes.pieces)
        guard whole == pieces else { return false }
        return whole.hasFailed ? nil : true
    }

    /// What a proxy says first. It tells the same however much of what follows is there, and never more than is.
    static let proxy = Reader("proxy", examples: ProxyExamples.headers) { bytes in
        switch ProxyHeader(bytes) {
        case .incomplete, .absent, .malformed: return nil
        case .complete(_, let size):
            guard size <= bytes.count else { return false }
            return ProxyHeader(UnsafeRawBufferPointer(rebasing: bytes[..<size])) == ProxyHeader(bytes)
                && ProxyHeader(UnsafeRawBufferPointer(rebasing: bytes[..<(size - 1)])) == .incomplete
        }
    }

    static let webSocket = Reader(
        "webSocket", examples: WebSocketExamples.streams
    ) { bytes in
        let whole = MessagesSeen(in: [Array(bytes)])
        let pieces = MessagesSeen(in: bytes.pieces)
        guard whole == pieces else { return false }
        return whole.violation == nil ? true : nil
    }
}

extension UnsafeRawBufferPointer {
    /// Cut at places that the bytes themselves decide.
    fileprivate var pieces: [[UInt8]] {
        var random = SeededRandom(seed: reduce(UInt64(count)) { $0 &* 31 &+ UInt64($1) })
        let longest = [1, 3, 20, 200].randomElement(using: &random)!
        var pieces: [[UInt8]] = [], rest = self[...]
        while !rest.isEmpty {
            let size = Int.random(in: 1...longest, using: &random)
            pieces.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces
    }
}

extension [UInt8] {
    /// Calls `body` with a copy of its own, so that a sanitizer finds whatever is read or written beyond it.
    fileprivate func withCopy<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: self)
        return body(copy)
    }
}

/// What a connection makes of its input.
private struct RequestsSeen: Equatable {
    struct Request: Equatable {
        let method: Method
        let path: [UInt8]
        let query: [UInt8]
        let values: [[UInt8]?]
        let body: [UInt8]
        let keepsAlive: Bool
        let isUpgrade: Bool
    }

    private var requests: [Request] = []
    private(set) var hasFailed = false

    init(in pieces: [[UInt8]]) {
        let parser = RequestParser(headLimit: 4096)
        for piece in pieces where !hasFailed { piece.withCopy { take($0, parser) } }
    }

    private mutating func take(_ bytes: UnsafeMutableRawBufferPointer, _ parser: RequestParser) {
        var input = bytes
        while !input.isEmpty, !hasFailed {
            switch parser.next(&input) {
            case .needsMore: break
            case .head: parser.bodyLimit = 1000
            case .request: requests.append(Request(parser))
            case .failure: hasFailed = true
            }
        }
    }
}

extension RequestsSeen.Request {
    init(_ parser: RequestParser) {
        method = parser.method
        path = Array(parser.target.path)
        query = Array(parser.target.query)
        values = HeaderName.allCases.map { parser.value(of: $0).map(Array.init) }
        body = Array(parser.body)
        keepsAlive = parser.keepsAlive
        isUpgrade = parser.asksForUpgrade
    }
}

/// What a WebSocket makes of its input.
private struct MessagesSeen: Equatable {
    enum Event: Equatable {
        case text([UInt8]), ping([UInt8]), pong
        case close(UInt16?)
    }

    private var events: [Event] = []
    private(set) var violation: UInt16?

    init(in pieces: [[UInt8]]) {
        var decoder = WebSocketDecoder(maximumMessageBytes: 70_000)
        for piece in pieces where violation == nil { piece.withCopy { take($0, &decoder) } }
    }

    private mutating func take(_ bytes: UnsafeMutableRawBufferPointer, _ decoder: inout WebSocketDecoder) {
        var input = bytes
        do throws(WebSocketViolation) {
            while let event = try decoder.next(&input) {
                switch event {
                case .text(let text): events.append(.text(Array(text)))
                case .ping(let payload): events.append(.ping(Array(payload)))
                case .pong: events.append(.pong)
                case .close(let code): events.append(.close(code?.rawValue))
                }
            }
        } catch {
            violation = error.code.rawValue
        }
    }
}

private enum ProxyExamples {
    static let headers: [[UInt8]] = [
        header(0x21, 0x11, [192, 0, 2, 1, 192, 0, 2, 2, 1, 0, 2, 0]) + Array("GET / HTTP/1.1".utf8),
        header(0x21, 0x21, [UInt8](repeating: 0x20, count: 36) + [4, 0, 1, 7]),
        header(0x20, 0x00, []),
    ]

    private static func header(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, command, family, 0, UInt8(rest.count)] + rest
    }
}

private enum WebSocketExamples {
    static let streams: [[UInt8]] = [
        frame(1, "hello") + frame(9, "p") + frame(10, "between") + frame(8, "\u{3}\u{E8}done"),
        frame(1, String(repeating: "äöü€𝄞 ascii ", count: 12)) + frame(1, "fräg", isFinal: false)
            + frame(10, "") + frame(0, "", isFinal: false) + frame(0, "ments") + frame(1, ""),
    ]

    /// As a client sends it (RFC 6455, 5.2).
    private static func frame(_ opcode: UInt8, _ text: String, isFinal: Bool = true) -> [UInt8] {
        let key: [UInt8] = [0x12, 0xA4, 0x00, 0xFF]
        let payload = opcode == 8 ? [3, 0xE8] + Array("done".utf8) : Array(text.utf8)
        let length =
            payload.count < 126 ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        let head = [(isFinal ? 0x80 : 0) | opcode, 0x80 | length[0]] + length.dropFirst()
        return head + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }
}
