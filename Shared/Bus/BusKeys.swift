import CZMQ
import Wire

/// A CURVE key: 32 bytes, written in files as 40 characters of Z85 (ZeroMQ RFC 32).
public struct BusKey: Hashable, Sendable {
    static let byteCount = 32
    private static let textLength = 40

    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "a CURVE key has 32 bytes")
        self.bytes = bytes
    }

    /// Nil when `text` is no key.
    public init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard text.utf8.count == Self.textLength, zmq_z85_decode(&bytes, text) != nil else { return nil }
        self.bytes = bytes
    }

    public var text: String {
        var text = [CChar](repeating: 0, count: Self.textLength + 1)
        zmq_z85_encode(&text, bytes, bytes.count)
        return String(decoding: text.prefix(Self.textLength).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A public key and the secret one that belongs to it.
public struct BusKeyPair: Sendable {
    public let publicKey: BusKey
    public let secretKey: BusKey

    /// Nil when `secretKey` cannot be one.
    public init?(secretKey: BusKey) {
        var text = [CChar](repeating: 0, count: 41)
        guard zmq_curve_public(&text, secretKey.text) == 0,
            let publicKey = BusKey(String(decoding: text.prefix(40).map(UInt8.init(bitPattern:)), as: UTF8.self))
        else { return nil }
        self.secretKey = secretKey
        self.publicKey = publicKey
    }

    /// A new pair, for tests.
    public static func random() -> BusKeyPair {
        var (publicText, secretText) = ([CChar](repeating: 0, count: 41), [CChar](repeating: 0, count: 41))
        let result = zmq_curve_keypair(&publicText, &secretText)
        let text = String(decoding: secretText.prefix(40).map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard result == 0, let secret = BusKey(text), let pair = BusKeyPair(secretKey: secret) else {
            preconditionFailure("libzmq was built with CURVE")
        }
        return pair
    }
}

/// What a process needs to prove its role on the bus and to check everybody else's: its own pair, and the public key of
/// every role. All processes of a role share one pair, so that scaling changes no list.
public struct BusKeys: Sendable {
    public let role: Role
    public let own: BusKeyPair
    public let publicKeys: [Role: BusKey]

    /// - Parameter publicKeys: one for each role, the own one included.
    public init(role: Role, own: BusKeyPair, publicKeys: [Role: BusKey]) {
        precondition(publicKeys.count == Role.allCases.count, "every role has a key")
        self.role = role
        self.own = own
        self.publicKeys = publicKeys
    }

    /// The roles that may hear this process, by their keys.
    var listeners: [BusKey: Role] {
        Dictionary(
            role.listeners.compactMap { role in publicKeys[role].map { ($0, role) } },
            uniquingKeysWith: { first, _ in first })
    }
}
