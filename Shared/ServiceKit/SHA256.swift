import CCrypto

enum SHA256 {
    static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        CCrypto.SHA256(bytes, bytes.count, &digest)
        return digest
    }
}
