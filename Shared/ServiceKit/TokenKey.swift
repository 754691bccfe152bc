import CCrypto
import CJWT

/// A key that verifies tokens. It alone determines the algorithm: a token's header is only compared with it, so that a
/// public key cannot be abused as a shared secret (RFC 8725, 3.1).
public struct TokenKey: Sendable, Equatable {
    let algorithm: jwt_alg_t
    let bytes: [UInt8]

    /// A key for HS256. RFC 7518, 3.2 requires a secret of 256 bits or more.
    public init(secret: String) throws(TokenKeyError) { try self.init(secret: Array(secret.utf8)) }

    public init(secret: [UInt8]) throws(TokenKeyError) {
        guard secret.count >= 32 else { throw .secretTooShort }
        algorithm = JWT_ALG_HS256
        bytes = secret
    }

    /// Like `init(publicKeyPEM:)`, from DER.
    init(publicKeyInfo der: [UInt8]) throws(TokenKeyError) {
        var encoded = [UInt8](repeating: 0, count: (der.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&encoded, der, CInt(der.count))
        let text = String(decoding: encoded[..<Int(count)], as: UTF8.self)
        try self.init(publicKeyPEM: "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n")
    }

    /// A key for RS256 or ES256, by its kind: RSA of 2048 bits or more, or an elliptic curve key on P-256.
    public init(publicKeyPEM pem: String) throws(TokenKeyError) {
        bytes = Array(pem.utf8)
        algorithm = try Self.algorithm(ofPublicKey: bytes)
    }

    /// The algorithm's name in a token's header.
    var algorithmName: String { String(cString: jwt_alg_str(algorithm)) }

    private static func algorithm(ofPublicKey pem: [UInt8]) throws(TokenKeyError) -> jwt_alg_t {
        guard let key = pem.withUnsafeBytes(Self.publicKey) else { throw .notAPublicKey }
        defer { EVP_PKEY_free(key) }
        switch (EVP_PKEY_get_base_id(key), EVP_PKEY_get_bits(key)) {
        case (EVP_PKEY_RSA, 2048...16384): return JWT_ALG_RS256
        case (EVP_PKEY_EC, 256): return JWT_ALG_ES256
        default: throw .unsuitablePublicKey
        }
    }

    /// The BIO reads from `pem` while it exists: given a Swift string, it read freed memory.
    private static func publicKey(in pem: UnsafeRawBufferPointer) -> OpaquePointer? {
        guard let source = BIO_new_mem_buf(pem.baseAddress, CInt(clamping: pem.count)) else { return nil }
        defer { BIO_free(source) }
        return PEM_read_bio_PUBKEY(source, nil, nil, nil)
    }
}

public enum TokenKeyError: Error, Equatable, CustomStringConvertible {
    case secretTooShort, notAPublicKey, unsuitablePublicKey
    /// An invalid set of keys, with the reason.
    case keySet(String)

    public var description: String {
        switch self {
        case .secretTooShort: "must be a secret of at least 32 bytes"
        case .notAPublicKey: "must be a public key in PEM form"
        case .unsuitablePublicKey: "must be an RSA key of at least 2048 bits or an EC key on P-256"
        case .keySet(let reason): reason
        }
    }
}
