import CCrypto

/// SHA-256 (FIPS 180-4) of UTF-8, in hexadecimal digits.
struct SHA256Text {
    private var bytes: [UInt8] = []

    static func of(_ text: String) -> String {
        var hash = SHA256Text()
        hash.update(text)
        return hash.finish()
    }

    mutating func update(_ text: String) { bytes.append(contentsOf: text.utf8) }

    func finish() -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(bytes, bytes.count, &digest)
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
