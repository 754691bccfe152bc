import Bytes
import CCrypto
import Reactor

/// The server's side of the opening handshake (RFC 6455, 4.2).
@Reactor
struct WebSocketHandshake {
    private let acceptKey: [UInt8]
    private let subprotocol: StaticString?

    /// Checks an upgrade request. A client that names subprotocols must name ours; one that names none is accepted.
    init(_ request: Request, subprotocol: StaticString) throws(RequestFailure) {
        guard let version = request[.webSocketVersion], version.isEqual(to: "13") else {
            throw .webSocketVersion
        }
        guard let key = request[.webSocketKey], Self.isValid(key) else { throw .handshakeInvalid }
        let offered = request[.webSocketProtocol]
        if let offered, !Self.contains(offered, subprotocol) { throw .webSocketProtocol }
        self.subprotocol = offered == nil ? nil : subprotocol
        acceptKey = Self.acceptKey(for: key)
    }

    func writeResponse(to buffer: inout ByteBuffer) {
        buffer.append("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        if let subprotocol {
            buffer.append("Sec-WebSocket-Protocol: ")
            buffer.append(subprotocol)
            buffer.append("\r\n")
        }
        buffer.append("Sec-WebSocket-Accept: ")
        buffer.append(acceptKey)
        buffer.append("\r\n\r\n")
    }

    /// Sixteen bytes in base64: 22 characters and the padding.
    private static func isValid(_ key: UnsafeRawBufferPointer) -> Bool {
        key.count == 24 && key[22...].allSatisfy { $0 == UInt8(ascii: "=") } && key[..<22].allSatisfy(isBase64)
    }

    private static func isBase64(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    private static func contains(_ list: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        ByteFields(list, separator: UInt8(ascii: ",")).contains {
            $0.trimmingWhitespace().isEqual(to: name)
        }
    }

    /// The value of `Sec-WebSocket-Accept` (RFC 6455, 4.2.2): the SHA-1 of the key and a fixed text, in base64.
    static func acceptKey(for key: UnsafeRawBufferPointer) -> [UInt8] {
        let input = Array(key) + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        SHA1(input, input.count, &digest)
        var encoded = [UInt8](repeating: 0, count: 29)  // 28 characters and the library's final zero.
        EVP_EncodeBlock(&encoded, digest, CInt(digest.count))
        return encoded.dropLast()
    }
}
