import Bytes
import Glibc

/// What a proxy says in front of a connection about who is behind it: the PROXY protocol, version 2.
///
/// Layout: signature 12 · version and command 1 · family and transport 1 · length 2, big-endian · so many bytes:
/// source address, destination address, source port, destination port, then fields that nobody here asks for.
enum ProxyHeader: Equatable {
    /// More bytes are needed to tell.
    case incomplete
    /// The bytes begin otherwise: no proxy has spoken.
    case absent
    /// Nil when the proxy speaks for itself, or of no address of the internet.
    case complete(source: IPAddress?, size: Int)
    case malformed

    /// A zero byte is in it, so that no HTTP request begins like this.
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    private static let fixedSize = 16
    /// Of everything behind the fixed part. The protocol allows 65,535; proxies send some hundreds.
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
        case 0x00, 0x31: return .complete(source: nil, size: size)  // Unknown; a socket of this machine.
        default: return .malformed
        }
    }

    private static func addressed(_ rest: UnsafeRawBufferPointer, bytes length: Int, _ size: Int) -> ProxyHeader {
        guard rest.count >= 2 * length + 4 else { return .malformed }
        return .complete(source: IPAddress(networkOrder: rest.part(0, length)), size: size)
    }
}
