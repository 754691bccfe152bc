import Bytes

/// Decodes the WebSocket frames of a server (RFC 6455, 5) into whole messages and control frames.
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

    /// The start of an incomplete frame.
    private var rest = ByteBuffer(capacity: 16)
    /// The fragments of the current message so far.
    private var message = ByteBuffer(capacity: 16)
    private var isMessageOpen = false
    private let maximumMessageBytes: Int

    /// The buffer kept after a large message. Thousands of idle connections must cost little.
    private static let keptBytes = 16 * 1024

    init(maximumMessageBytes: Int = 16 * 1024 * 1024) { self.maximumMessageBytes = maximumMessageBytes }

    /// Calls `handle` with every event that the bytes complete and its payload, which is valid until `handle` returns.
    /// The payload mostly lies in `bytes`.
    mutating func decode(
        _ bytes: UnsafeRawBufferPointer, _ handle: (Event, UnsafeRawBufferPointer) -> Void
    ) throws(Violation) {
        if rest.isEmpty {
            let used = try decodeFrames(bytes, handle)
            rest.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        } else {
            rest.append(bytes)
            // Passed from `rest`, which nothing changes in the meantime.
            let used = try decodeFrames(rest.bytes, handle)
            used == rest.count && used > Self.keptBytes ? rest = ByteBuffer(capacity: 16) : rest.removeFirst(used)
        }
    }

    /// - Returns: the number of bytes of complete frames.
    private mutating func decodeFrames(
        _ bytes: UnsafeRawBufferPointer, _ handle: (Event, UnsafeRawBufferPointer) -> Void
    ) throws(Violation) -> Int {
        var used = 0
        while let frame = try Self.frame(UnsafeRawBufferPointer(rebasing: bytes[used...]), at: maximumMessageBytes) {
            used += frame.size
            switch frame.opcode {
            case 0x0, 0x1: try takeFragment(frame, handle)
            case 0x8, 0x9, 0xA: handle(try Self.control(frame), frame.payload)
            default: throw Violation(reason: "a frame of opcode \(frame.opcode)")
            }
        }
        return used
    }

    // MARK: Frames

    private struct Frame {
        let isFinal: Bool
        let opcode: UInt8
        let payload: UnsafeRawBufferPointer
        /// The size including the header.
        let size: Int
    }

    /// Returns nil when the frame is incomplete.
    private static func frame(_ bytes: UnsafeRawBufferPointer, at most: Int) throws(Violation) -> Frame? {
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0x70 == 0 else { throw Violation(reason: "a reserved bit is set") }
        guard bytes[1] & 0x80 == 0 else { throw Violation(reason: "a server must not mask its frames") }
        guard let (headerSize, length) = try length(bytes, at: most), bytes.count >= headerSize + length else {
            return nil
        }
        return Frame(
            isFinal: bytes[0] & 0x80 != 0, opcode: bytes[0] & 0xF,
            payload: bytes.part(headerSize, headerSize + length), size: headerSize + length)
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

    private mutating func takeFragment(
        _ frame: Frame, _ handle: (Event, UnsafeRawBufferPointer) -> Void
    ) throws(Violation) {
        guard (frame.opcode == 0) == isMessageOpen else {
            throw Violation(reason: "fragments of two messages are mixed")
        }
        if frame.isFinal, !isMessageOpen { return handle(.text, frame.payload) }
        message.append(frame.payload)
        guard message.count <= maximumMessageBytes else {
            throw Violation(reason: "a message of \(message.count) bytes")
        }
        isMessageOpen = !frame.isFinal
        guard frame.isFinal else { return }
        handle(.text, message.bytes)
        message = ByteBuffer(capacity: 16)
    }

    private static func control(_ frame: Frame) throws(Violation) -> Event {
        guard frame.isFinal, frame.payload.count <= 125 else { throw Violation(reason: "a control frame too long") }
        switch frame.opcode {
        case 0x9: return .ping
        case 0xA: return .pong
        default:
            let bytes = frame.payload
            return .close(code: bytes.count < 2 ? nil : UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        }
    }
}
