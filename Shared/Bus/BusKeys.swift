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

    /// Returns nil when `text` is not a key.
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

/// A public key and its secret key.
public struct BusKeyPair: Sendable {
    public let publicKey: BusKey
    public let secretKey: BusKey

    /// Returns nil when libzmq rejects `secretKey`.
    public init?(secretKey: BusKey) {
        var text = [CChar](repeating: 0, count: 41)
        guard zmq_curve_public(&text, secretKey.text) == 0,
            let publicKey = BusKey(String(decoding: text.prefix(40).map(UInt8.init(bitPattern:)), as: UTF8.self))
        else { return nil }
        self.secretKey = secretKey
        self.publicKey = publicKey
    }

    /// Returns a new key pair, for tests.
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

/// The keys by which a process proves its role on the bus and checks its peers: its own pair, and the public key of
/// every role that the system has. All processes of a role share one pair, so scaling changes no list.
public struct BusKeys: Sendable {
    public let role: Role
    public let own: BusKeyPair
    public let publicKeys: [Role: BusKey]

    /// - Parameter publicKeys: one for each role, including `role`; those of optional roles may be missing.
    public init(role: Role, own: BusKeyPair, publicKeys: [Role: BusKey]) {
        precondition(
            Role.allCases.allSatisfy { publicKeys[$0] != nil || $0.isOptional && $0 != role }, "every role has a key")
        self.role = role
        self.own = own
        self.publicKeys = publicKeys
    }

    /// The roles that may listen to this process, by their keys.
    var listeners: [BusKey: Role] {
        Dictionary(
            role.listeners.compactMap { role in publicKeys[role].map { ($0, role) } },
            uniquingKeysWith: { first, _ in first })
    }
}
