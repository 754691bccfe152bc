import Bytes
import TestSupport
import Testing

@testable import ReactorTransport

@Suite struct ServerFrameDecoderTests {
    private typealias Violation = ServerFrameDecoder.Violation

    /// The events of `bytes`, each with its payload, decoded from pieces of the given size.
    private func events(_ bytes: [UInt8], pieces: Int = .max) throws -> [String] {
        var decoder = ServerFrameDecoder(maximumMessageBytes: 100_000)
        var events: [String] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            try rest.prefix(pieces).withUnsafeBytes { bytes in
                try decoder.decode(bytes) { event, payload in
                    events.append("\(event) \(String(decoding: payload, as: UTF8.self))")
                }
            }
            rest = rest.dropFirst(pieces)
        }
        return events
    }

    private func frame(_ first: UInt8, _ payload: String) -> [UInt8] {
        let bytes = Array(payload.utf8)
        switch bytes.count {
        case ..<126: return [first, UInt8(bytes.count)] + bytes
        case ..<65536: return [first, 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
        default: return [first, 127, 0, 0, 0, 0, 0] + [16, 8, 0].map { UInt8(bytes.count >> $0 & 0xFF) } + bytes
        }
    }

    @Test("messages of every length form come whole, however the bytes are cut", arguments: [1, 2, 3, 7, 1000, .max])
    func lengths(pieces: Int) throws {
        let texts = [0, 1, 125, 126, 300, 65535, 65536].map { String(repeating: "x", count: $0) }
        #expect(try events(texts.flatMap { frame(0x81, $0) }, pieces: pieces) == texts.map { "text \($0)" })
    }

    @Test("fragments become one message, with control frames in between")
    func fragments() throws {
        let bytes = frame(0x01, "a") + frame(0x89, "p") + frame(0x00, "b") + frame(0x80, "c") + frame(0x8A, "")
        #expect(try events(bytes) == ["ping p", "text abc", "pong "])
        #expect(try events([0x88, 2, 0x03, 0xE9])[0].hasPrefix("close(code: Optional(1001))"))
        #expect(try events([0x88, 0]) == ["close(code: nil) "])
    }

    @Test(
        "what a server must not send is refused",
        arguments: [
            [0xC1, 0], [0x81, 0x80, 0, 0, 0, 0], [0x80, 0], [0x01, 0, 0x01, 0], [0x82, 0], [0x83, 0], [0x09, 0],
            [0x89, 126, 0, 126] + Array(repeating: 0, count: 126), [0x81, 127, 0, 0, 0, 0, 0, 2, 0, 0],
            [0x81, 127, 255, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func violations(bytes: [UInt8]) {
        #expect(throws: Violation.self) { try events(bytes) }
    }

    @Test("a client's frame is masked and unmasks to what was sent", arguments: [0, 1, 125, 126, 65535, 65536])
    func masking(length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        var buffer = ByteBuffer()
        payload.withUnsafeBytes { ClientFrame.write(opcode: 1, $0, mask: 0x1234_5678, to: &buffer) }
        let frame = buffer.array
        let headerSize = length < 126 ? 2 : length < 65536 ? 4 : 10
        #expect(frame[0] == 0x81)
        #expect(frame[1] & 0x80 == 0x80)
        #expect(frame.count == headerSize + 4 + length)
        let key = frame[headerSize..<headerSize + 4]
        #expect(Array(key) == [0x12, 0x34, 0x56, 0x78])
        let keys = Array(key)
        #expect(frame[(headerSize + 4)...].enumerated().map { $1 ^ keys[$0 & 3] } == payload)
    }

    @Test("the accept key is that of RFC 6455's example")
    func acceptKey() {
        #expect(
            WebSocketConnection.acceptKey(for: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8))
                == Array("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".utf8))
    }
}

@Suite struct EndpointTests {
    @Test(
        "an endpoint has a scheme, a host, a port and perhaps a path",
        arguments: [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("http://api.example.org", "http://api.example.org:80"),
            ("http://[::1]:8080/", "http://[::1]:8080"), ("ws://a:1/v1/socket", nil), ("https://a:1", "https://a:1"),
            ("https://api.example.org/", "https://api.example.org:443"), ("httpss://a:1", nil),
            ("http://", nil), ("http://:80", nil), ("http://a:b", nil), ("http://a:70000", nil), ("a:80", nil),
        ] as [(String, String?)])
    func parsing(text: String, expected: String?) {
        #expect((try? Endpoint(text, scheme: "http"))?.description == expected)
    }

    @Test("the WebSocket of an origin is reached as securely as its HTTP")
    func origin() throws {
        #expect(try Endpoint("https://[::1]:8443", scheme: "http").webSocket.description == "wss://[::1]:8443")
        #expect(try Endpoint("http://a", scheme: "http").webSocket.description == "ws://a:80")
        #expect(try Endpoint("ws://a", scheme: "ws").isSecure == false && Endpoint("wss://a", scheme: "ws").isSecure)
        #expect(try Endpoint("https://[::1]:8443", scheme: "http").bareHost == "::1")
    }
}
