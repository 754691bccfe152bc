/// The header of a frame from a client (RFC 6455, 5.2).
struct WebSocketFrameHeader {
    let isFinal: Bool
    let opcode: WebSocketOpcode
    let size: Int
    let payloadSize: Int
    private let mask: UInt32

    var frameSize: Int { size + payloadSize }

    /// Reads the header at the start of `bytes`; nil when it is incomplete. Violations in the first two bytes are found
    /// before the rest has arrived.
    init?(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) {
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0x70 == 0 else { throw .protocolError("a reserved bit is set") }
        guard let opcode = WebSocketOpcode(rawValue: bytes[0] & 0x0F) else { throw .protocolError("unknown opcode") }
        guard bytes[1] & 0x80 != 0 else { throw .protocolError("a client must mask its frames") }
        isFinal = bytes[0] & 0x80 != 0
        if opcode.isControl, !isFinal || bytes[1] & 0x7F > 125 {
            throw .protocolError("a control frame is fragmented or too long")
        }
        size = Self.size(bytes)
        guard bytes.count >= size else { return nil }
        self.opcode = opcode
        payloadSize = try Self.payloadSize(bytes, lengthBytes: size - 6)
        mask = bytes.loadUnaligned(fromByteOffset: size - 4, as: UInt32.self)
    }

    /// The length of the header at the start of `bytes`, as far as they determine it: at least two.
    static func size(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count >= 2 else { return 2 }
        switch bytes[1] & 0x7F {
        case 126: return 8
        case 127: return 14
        default: return 6
        }
    }

    private static func payloadSize(
        _ bytes: UnsafeRawBufferPointer, lengthBytes: Int
    ) throws(WebSocketViolation) -> Int {
        if lengthBytes == 0 { return Int(bytes[1] & 0x7F) }
        let length = bytes[2..<2 + lengthBytes].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The shortest form must be used, and the highest bit must be zero.
        guard length >= (lengthBytes == 2 ? 126 : 0x1_0000), length <= UInt64(Int64.max) else {
            throw .protocolError("a length is not in its shortest form")
        }
        // Larger than any limit, and small enough that sums cannot overflow.
        return Int(min(length, UInt64(Int32.max)))
    }

    /// Unmasks the payload of this frame, in place.
    func unmask(_ frame: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer {
        let payload = UnsafeMutableRawBufferPointer(rebasing: frame[size...])
        let wide = UInt64(mask) << 32 | UInt64(mask)
        var position = 0
        while position + 8 <= payload.count {
            let word = payload.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            payload.storeBytes(of: word ^ wide, toByteOffset: position, as: UInt64.self)
            position += 8
        }
        while position < payload.count {
            payload[position] ^= UInt8(truncatingIfNeeded: mask >> (8 * UInt32(position & 3)))
            position += 1
        }
        return UnsafeRawBufferPointer(payload)
    }
}

extension WebSocketViolation {
    fileprivate static func protocolError(_ reason: StaticString) -> Self { Self(code: .protocolError, reason: reason) }
}
