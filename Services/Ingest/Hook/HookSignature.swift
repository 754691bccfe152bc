import CCrypto
import ServiceKit

/// A secret by which questions are signed. Its description shows nothing of it.
struct HookSecret: Sendable, CustomStringConvertible {
    private let key: [UInt8]

    /// - Parameter text: `whsec_` and base64, as Standard Webhooks has it.
    init?(_ text: String) {
        guard text.hasPrefix("whsec_"), let key = Base64.decode(Array(text.utf8.dropFirst(6))), 24...64 ~= key.count
        else {
            return nil
        }
        self.key = key
    }

    var description: String { "a secret" }

    /// `v1,` and the HMAC-SHA-256 of `content` in base64.
    func signature(of content: [UInt8]) -> String {
        var result = [UInt8](repeating: 0, count: 32), count: CUnsignedInt = 0
        HMAC(EVP_sha256(), key, CInt(key.count), content, content.count, &result, &count)
        precondition(count == 32, "OpenSSL has HMAC-SHA-256")
        return "v1,\(Base64.encode(result))"
    }
}

/// The head of a question, signed as Standard Webhooks 1.0 specifies (https://www.standardwebhooks.com), for which every language
/// has a library: by each secret, `id.timestamp.body`.
enum HookSignature {
    static func headers(id: String, seconds: Int64, body: [UInt8], _ secrets: [HookSecret]) -> [String] {
        let content = Array("\(id).\(seconds).".utf8) + body
        return [
            "webhook-id: \(id)", "webhook-timestamp: \(seconds)",
            "webhook-signature: \(secrets.map { $0.signature(of: content) }.joined(separator: " "))",
        ]
    }
}
