import Bytes

/// Writes client frames, which must be masked (RFC 6455, 5.3).
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
