/// SHA-256 (FIPS 180-4) of UTF-8, in hexadecimal digits.
package struct SHA256Text {
    private var bytes: [UInt8] = []

    package init() {}

    package static func of(_ text: String) -> String {
        var hash = SHA256Text()
        hash.update(text)
        return hash.finish()
    }

    /// The digest itself.
    package static func bytes(of text: String) -> [UInt8] {
        var hash = SHA256Text()
        hash.update(text)
        return hash.digest
    }

    package mutating func update(_ text: String) { bytes.append(contentsOf: text.utf8) }

    package func finish() -> String { Self.hexadecimal(digest) }

    package static func hexadecimal(_ digest: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private var digest: [UInt8] {
        let hash = SHA256Bytes()
        bytes.withUnsafeBytes(hash.update)
        return hash.finish()
    }
}
