import CCrypto
import CJWT
import Glibc

/// A key pair for one test run, and tokens signed with it as by an embedding application.
struct SigningKey {
    let privatePEM: String
    let publicPEM: String

    enum Kind { case rsa(bits: CInt), p256, p384 }

    /// Made once: looking for its primes takes a second now and then.
    static let rsa2048 = SigningKey(.rsa(bits: 2048))

    init(_ kind: Kind) {
        let type =
            switch kind {
            case .rsa: EVP_PKEY_RSA
            case .p256, .p384: EVP_PKEY_EC
            }
        let context = EVP_PKEY_CTX_new_id(type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        precondition(EVP_PKEY_keygen_init(context) == 1)
        switch kind {
        case .rsa(let bits): EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits)
        case .p256: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        case .p384: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1)
        }
        var key: OpaquePointer?
        precondition(EVP_PKEY_keygen(context, &key) == 1)
        defer { EVP_PKEY_free(key) }
        privatePEM = Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
        publicPEM = Self.text { PEM_write_bio_PUBKEY($0, key) }
        var der = [UInt8](repeating: 0, count: 1024)
        let count = der.withUnsafeMutableBufferPointer { buffer in
            var end = buffer.baseAddress
            return Int(i2d_PUBKEY(key, &end))
        }
        publicDER = Array(der[..<count])
        self.kind = kind
    }

    private let publicDER: [UInt8]
    private let kind: Kind

    /// The public key as a JSON Web Key. In the DER the coordinates of a point are the last 64 bytes. RSA keys made
    /// here have the exponent 65537, after the modulus.
    func json(_ more: String = "") -> String {
        func text(_ bytes: some Sequence<UInt8>) -> String { TokenKeySetTests.base64URL(Array(bytes)) }
        switch kind {
        case .rsa(let bits):
            let modulus = publicDER.dropLast(5).suffix(Int(bits) / 8)
            return #"{"kty":"RSA","n":"\#(text(modulus))","e":"AQAB"\#(more)}"#
        case .p256, .p384:
            let x = text(publicDER.suffix(64).prefix(32)), y = text(publicDER.suffix(32))
            return #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"\#(more)}"#
        }
    }

    private static func text(_ write: (OpaquePointer?) -> CInt) -> String {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        precondition(write(memory) == 1)
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = BIO_read(memory, &bytes, CInt(bytes.count))
        return String(decoding: bytes[..<Int(count)], as: UTF8.self)
    }
}

/// A token with any claims, signed with any algorithm, valid or not.
func signedToken(_ claims: String, _ algorithm: jwt_alg_t, key: String, kid: String? = nil) -> String {
    var token: OpaquePointer?
    precondition(jwt_new(&token) == 0)
    defer { jwt_free(token) }
    precondition(jwt_add_grants_json(token, claims) == 0)
    if let kid { precondition(jwt_add_header(token, "kid", kid) == 0) }
    precondition(
        jwt_set_alg(
            token, algorithm, algorithm == JWT_ALG_NONE ? nil : key,
            algorithm == JWT_ALG_NONE ? 0 : CInt(key.utf8.count)) == 0)
    guard let text = jwt_encode_str(token) else { preconditionFailure("libjwt signs") }
    defer { free(text) }
    return String(cString: text)
}
