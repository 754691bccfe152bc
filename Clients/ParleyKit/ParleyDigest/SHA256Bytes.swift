#if canImport(CryptoKit)
    import CryptoKit
#else
    import CCrypto
#endif

/// SHA-256 (FIPS 180-4) of bytes that come in pieces. Used by one task at a time.
package final class SHA256Bytes {
    #if canImport(CryptoKit)
        private var hash = SHA256()

        package init() {}

        package func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

        /// The digest of all that came.
        package func finish() -> [UInt8] { Array(hash.finalize()) }
    #else
        private let context: OpaquePointer

        package init() {
            context = EVP_MD_CTX_new()
            precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "OpenSSL has SHA-256")
        }

        deinit { EVP_MD_CTX_free(context) }

        package func update(_ bytes: UnsafeRawBufferPointer) {
            precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "a digest takes any bytes")
        }

        /// The digest of all that came. Nothing may follow.
        package func finish() -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
            precondition(EVP_DigestFinal_ex(context, &digest, nil) == 1, "a digest ends once")
            return digest
        }
    #endif
}
