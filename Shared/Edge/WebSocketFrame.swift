import Bytes
import Glibc

/// An encoded frame from server to client (RFC 6455, 5.2; not masked): encoded once, queued for any number of sessions.
public struct WebSocketFrame: @unchecked Sendable {
    // @unchecked: the bytes are not changed after `init`.
    private let storage: ManagedBuffer<Int, UInt8>

    /// A text frame of the concatenated pieces, which must be valid UTF-8 together.
    public static func text(_ pieces: UnsafeRawBufferPointer...) -> WebSocketFrame {
        WebSocketFrame(.text, pieces)
    }

    public static func text(_ message: borrowing ByteBuffer) -> WebSocketFrame { text(message.bytes) }

    static let ping = WebSocketFrame(.ping, [])

    static func pong(_ payload: UnsafeRawBufferPointer) -> WebSocketFrame { WebSocketFrame(.pong, [payload]) }

    static func close(_ code: WebSocketCloseCode, reason: StaticString) -> WebSocketFrame {
        let number = code.rawValue.bigEndian
        return withUnsafeBytes(of: number) {
            // A control frame's payload has at most 125 bytes (RFC 6455, 5.5).
            WebSocketFrame(.close, [$0, UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(reason).prefix(123))])
        }
    }

    /// Bytes that are not a frame: the remaining HTTP responses, the handshake's included.
    init(raw bytes: UnsafeRawBufferPointer) {
        storage = Self.allocate(bytes.count)
        Self.copy([bytes], to: storage, at: 0)
    }

    private init(_ opcode: WebSocketOpcode, _ pieces: [UnsafeRawBufferPointer]) {
        let length = pieces.reduce(0) { $0 + $1.count }
        let headerSize = length < 126 ? 2 : length <= UInt16.max ? 4 : 10
        storage = Self.allocate(headerSize + length)
        storage.withUnsafeMutablePointerToElements { start in
            start[0] = 0x80 | opcode.rawValue  // The final fragment, which is the first.
            start[1] = length < 126 ? UInt8(length) : length <= UInt16.max ? 126 : 127
            for index in 2..<headerSize {
                start[index] = UInt8(truncatingIfNeeded: length >> (8 * (headerSize - 1 - index)))
            }
        }
        Self.copy(pieces, to: storage, at: headerSize)
    }

    public var count: Int { storage.header }

    /// The encoded bytes. Valid as long as the frame.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// The start of the encoded bytes. Valid as long as the frame.
    var start: UnsafeMutablePointer<UInt8> { storage.withUnsafeMutablePointerToElements { $0 } }

    private static func allocate(_ count: Int) -> ManagedBuffer<Int, UInt8> {
        ManagedBuffer<Int, UInt8>.create(minimumCapacity: count) { _ in count }
    }

    private static func copy(
        _ pieces: [UnsafeRawBufferPointer], to storage: ManagedBuffer<Int, UInt8>, at offset: Int
    ) {
        storage.withUnsafeMutablePointerToElements { start in
            var position = start + offset
            for piece in pieces where !piece.isEmpty {
                memcpy(position, piece.baseAddress!, piece.count)
                position += piece.count
            }
        }
    }
}

/// The opcode of a frame (RFC 6455, 5.2).
enum WebSocketOpcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// The status code of a close frame: RFC 6455, 7.4.1, and the IANA registry.
public struct WebSocketCloseCode: RawRepresentable, Equatable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let normal = WebSocketCloseCode(rawValue: 1000)
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)

    /// Whether a peer may send this code, unlike those reserved for a missing code (RFC 6455, 7.4.1 and 7.4.2).
    var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
