import Bytes

/// Decodes the WebSocket frames of a server (RFC 6455, 5): bytes in, whole messages and control frames out.
struct ServerFrameDecoder: ~Copyable {
    enum Event: Equatable {
        case text
        case ping
        case pong
        case close(code: UInt16?)
    }

    struct Violation: Error, Equatable {
        let reason: String
    }

    /// What the event given last carries. Valid until the decoder is used again.
    private(set) var payload = ByteBuffer(capacity: 4096)

    private var input = ByteBuffer(capacity: 4096)
    private var used = 0
    private var message = ByteBuffer(capacity: 4096)
    private var isMessageOpen = false
    private let maximumMessageBytes: Int

    init(maximumMessageBytes: Int = 16 * 1024 * 1024) { self.maximumMessageBytes = maximumMessageBytes }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        input.removeFirst(used)
        used = 0
        input.append(bytes)
    }

    /// The next event, nil when more bytes are needed.
    mutating func next() throws(Violation) -> Event? {
        while let frame = try takeFrame() {
            switch frame.opcode {
            case 0x0, 0x1: if try takeFragment(frame) { return .text }
            case 0x8, 0x9, 0xA: return try control(frame)
            default: throw Violation(reason: "a frame of opcode \(frame.opcode)")
            }
        }
        return nil
    }

    // MARK: Frames

    private struct Frame {
        let isFinal: Bool
        let opcode: UInt8
        let payload: Range<Int>
    }

    private mutating func takeFrame() throws(Violation) -> Frame? {
        let bytes = UnsafeRawBufferPointer(rebasing: input.bytes[used...])
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0x70 == 0 else { throw Violation(reason: "a reserved bit is set") }
        guard bytes[1] & 0x80 == 0 else { throw Violation(reason: "a server must not mask its frames") }
        guard let (headerSize, length) = try Self.length(bytes, at: maximumMessageBytes),
            bytes.count >= headerSize + length
        else { return nil }
        let start = used + headerSize
        used = start + length
        return Frame(isFinal: bytes[0] & 0x80 != 0, opcode: bytes[0] & 0xF, payload: start..<used)
    }

    private static func length(
        _ bytes: UnsafeRawBufferPointer, at most: Int
    ) throws(Violation) -> (headerSize: Int, length: Int)? {
        let short = Int(bytes[1])
        let extra = short < 126 ? 0 : short == 126 ? 2 : 8
        guard bytes.count >= 2 + extra else { return nil }
        let length = extra == 0 ? UInt64(short) : bytes[2..<2 + extra].reduce(0) { $0 << 8 | UInt64($1) }
        guard length <= UInt64(most) else { throw Violation(reason: "a frame of \(length) bytes") }
        return (2 + extra, Int(length))
    }

    /// Whether the message is complete.
    private mutating func takeFragment(_ frame: Frame) throws(Violation) -> Bool {
        guard (frame.opcode == 0) == isMessageOpen else {
            throw Violation(reason: "fragments of two messages are mixed")
        }
        if !isMessageOpen { message.removeAll() }
        message.append(UnsafeRawBufferPointer(rebasing: input.bytes[frame.payload]))
        guard message.count <= maximumMessageBytes else {
            throw Violation(reason: "a message of \(message.count) bytes")
        }
        isMessageOpen = !frame.isFinal
        if frame.isFinal { swap(&payload, &message) }
        return frame.isFinal
    }

    private mutating func control(_ frame: Frame) throws(Violation) -> Event {
        guard frame.isFinal, frame.payload.count <= 125 else { throw Violation(reason: "a control frame too long") }
        payload.removeAll()
        payload.append(UnsafeRawBufferPointer(rebasing: input.bytes[frame.payload]))
        switch frame.opcode {
        case 0x9: return .ping
        case 0xA: return .pong
        default:
            let bytes = payload.bytes
            return .close(code: bytes.count < 2 ? nil : UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        }
    }
}

/// Writes the frames of a client, which must be masked (RFC 6455, 5.3).
enum ClientFrame {
    static func write(
        opcode: UInt8, _ payload: UnsafeRawBufferPointer, mask: UInt32, to buffer: inout ByteBuffer
    ) {
        buffer.append(0x80 | opcode)
        switch payload.count {
        case ..<126: buffer.append(0x80 | UInt8(payload.count))
        case ..<65536:
            buffer.append(0x80 | 126)
            buffer.append(bigEndian: UInt16(payload.count))
        default:
            buffer.append(0x80 | 127)
            buffer.append(bigEndian: UInt64(payload.count))
        }
        buffer.append(bigEndian: mask)
        let keys = withUnsafeBytes(of: mask.bigEndian) { ($0[0], $0[1], $0[2], $0[3]) }
        buffer.append(count: payload.count) { masked in
            for position in 0..<payload.count {
                masked[position] = payload[position] ^ Self.key(keys, position & 3)
            }
        }
    }

    private static func key(_ keys: (UInt8, UInt8, UInt8, UInt8), _ position: Int) -> UInt8 {
        switch position {
        case 0: keys.0
        case 1: keys.1
        case 2: keys.2
        default: keys.3
        }
    }
}
