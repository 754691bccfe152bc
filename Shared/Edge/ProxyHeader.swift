import Bytes
import Glibc

/// The header of the PROXY protocol, version 2, by which a proxy gives the address of its client.
///
/// Layout: signature 12 · version and command 1 · family and transport 1 · length 2, big-endian · `length` bytes:
/// source address, destination address, source port, destination port, then fields that are ignored.
enum ProxyHeader: Equatable {
    /// More bytes are needed.
    case incomplete
    /// The bytes do not begin with the signature.
    case absent
    /// `source` is nil when the proxy connects for itself (LOCAL), or the address is not an internet address.
    case complete(source: IPAddress?, size: Int)
    case malformed

    /// It contains a zero byte, so no HTTP request begins like this.
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    private static let fixedSize = 16
    /// The maximum length after the fixed part. The protocol allows 65,535; proxies send a few hundred.
    private static let longest = 2048

    init(_ bytes: UnsafeRawBufferPointer) {
        self = Self.read(bytes)
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> ProxyHeader {
        guard bytes.prefix(signature.count).elementsEqual(signature.prefix(bytes.count)) else { return .absent }
        guard bytes.count >= fixedSize else { return .incomplete }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1, length <= longest else { return .malformed }
        guard bytes.count >= fixedSize + length else { return .incomplete }
        let isForAnother = bytes[12] & 15 == 1
        return addressed(bytes.part(fixedSize, fixedSize + length), family: bytes[13], isForAnother)
    }

    private static func addressed(
        _ rest: UnsafeRawBufferPointer, family: UInt8, _ isForAnother: Bool
    ) -> ProxyHeader {
        let size = fixedSize + rest.count
        guard isForAnother else { return .complete(source: nil, size: size) }
        switch family {
        case 0x11: return addressed(rest, bytes: 4, size)
        case 0x21: return addressed(rest, bytes: 16, size)
        case 0x00, 0x31: return .complete(source: nil, size: size)  // AF_UNSPEC; AF_UNIX.
        default: return .malformed
        }
    }

    private static func addressed(_ rest: UnsafeRawBufferPointer, bytes length: Int, _ size: Int) -> ProxyHeader {
        guard rest.count >= 2 * length + 4 else { return .malformed }
        return .complete(source: IPAddress(networkOrder: rest.part(0, length)), size: size)
    }
}
