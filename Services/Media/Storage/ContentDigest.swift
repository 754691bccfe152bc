import CCrypto

/// A digest of bytes that come in pieces.
///
/// One thread at a time uses it: the reactor hands it over with the bytes and gets it back with the result.
final class ContentDigest: @unchecked Sendable {
    // @unchecked: see above.
    enum Algorithm: Sendable {
        case sha1, sha256
        /// Against mistakes of a transfer; it withstands no attack.
        case md5

        var byteCount: Int { function.map { Int(EVP_MD_get_size($0)) } ?? 0 }

        fileprivate var function: OpaquePointer? {
            switch self {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .md5: EVP_md5()
            }
        }
    }

    let algorithm: Algorithm
    private let context: OpaquePointer

    init(_ algorithm: Algorithm) {
        self.algorithm = algorithm
        context = EVP_MD_CTX_new()
        precondition(
            EVP_DigestInit_ex(context, algorithm.function, nil) == 1, "OpenSSL has SHA-1, SHA-256 and MD5")
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "a digest takes any bytes")
    }

    /// The digest. Nothing may follow.
    func finish() -> [UInt8] {
        var result = [UInt8](repeating: 0, count: algorithm.byteCount)
        precondition(EVP_DigestFinal_ex(context, &result, nil) == 1, "a digest ends once")
        return result
    }

    static func hex(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
