import CLinux
import Glibc

/// An IPv6 address, or an IPv4 address mapped to IPv6 (`::ffff:192.0.2.1`), so that both compare in one way.
public struct IPAddress: Hashable, Sendable {
    let high, low: UInt64

    private static let mapped: UInt64 = 0xFFFF << 32

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(v4: UInt32) { self.init(high: 0, low: Self.mapped | UInt64(v4)) }

    /// Reads 4 or 16 bytes in network byte order.
    init(networkOrder bytes: UnsafeRawBufferPointer) {
        func number<Integer: FixedWidthInteger>(_ offset: Int) -> Integer {
            Integer(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
        }
        if bytes.count == 4 { self.init(v4: number(0)) } else { self.init(high: number(0), low: number(8)) }
    }

    /// Nil for any address family but IPv4 and IPv6.
    init?(_ storage: sockaddr_storage) {
        let family = CInt(storage.ss_family)
        guard family == AF_INET || family == AF_INET6 else { return nil }
        self = withUnsafeBytes(of: storage) { bytes in
            // sockaddr_in: family 2 · port 2 · address 4. sockaddr_in6: family 2 · port 2 · flow 4 · address 16.
            IPAddress(networkOrder: UnsafeRawBufferPointer(rebasing: family == AF_INET ? bytes[4..<8] : bytes[8..<24]))
        }
    }

    init?(_ text: some StringProtocol) {
        var bytes = [UInt8](repeating: 0, count: 16)
        let text = String(text)
        if inet_pton(AF_INET, text, &bytes) == 1 { bytes = Array(bytes[..<4]) }
        guard bytes.count == 4 || inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
        self = bytes.withUnsafeBytes(IPAddress.init(networkOrder:))
    }

    var isIPv4: Bool { high == 0 && low >> 32 == Self.mapped >> 32 }

    /// The address that limits count by. An IPv6 client usually has a whole /64, so that counts as one address.
    var client: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }

    /// Whether the address is a loopback or private one. Its client may be a proxy that connects for many.
    var isPrivate: Bool { IPNetwork.private.contains { $0.contains(self) } }
}

/// A range of addresses, such as `10.0.0.0/8`; without a prefix length, a single address.
public struct IPNetwork: Hashable, Sendable {
    private let base: IPAddress
    private let masks: (high: UInt64, low: UInt64)

    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        let bits = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || Int(parts[1]).map((0...bits).contains) == true else { return nil }
        self.init(address, prefix: (parts.count == 1 ? bits : Int(parts[1])!) + 128 - bits)
    }

    private init(_ address: IPAddress, prefix: Int) {
        // A shift by 64 or more is 0.
        masks = (prefix == 0 ? 0 : ~0 << max(0, 64 - prefix), prefix <= 64 ? 0 : ~0 << (128 - prefix))
        base = IPAddress(high: address.high & masks.high, low: address.low & masks.low)
    }

    public func contains(_ address: IPAddress) -> Bool {
        address.high & masks.high == base.high && address.low & masks.low == base.low
    }

    public static func == (left: Self, right: Self) -> Bool { left.base == right.base && left.masks == right.masks }

    public func hash(into hasher: inout Hasher) { hasher.combine(base) }

    /// Every address.
    public static let all: [IPNetwork] = ["0.0.0.0/0", "::/0"].compactMap(IPNetwork.init)

    /// The networks of RFC 1122, 1918, 3927, 6598; RFC 4193, 4291.
    fileprivate static let `private`: [IPNetwork] = [
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
        "::1", "fc00::/7", "fe80::/10",
    ].compactMap(IPNetwork.init)
}
