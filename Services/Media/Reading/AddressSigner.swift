import CCrypto
import Edge
import Models

/// Signs addresses of files, so that `<img>` and `<video>`, which send no token, can read them for a while.
///
/// The signature is HMAC-SHA-256 of what is read and until when. All media services have the key from their database.
struct AddressSigner: Sendable {
    static let lifetimeSeconds: Int64 = 300
    private let key: [UInt8]

    init(key: String) { self.key = Array(key.utf8) }

    /// `/v1/media/{id}/content?expires=1790000000&signature=…`
    func address(_ id: MediaID, _ part: ObjectPart, until expiry: Int64) -> String {
        let path = part == .content ? "content?" : "thumbnail?size=\(part.rawValue)&"
        return "/v1/media/\(id)/\(path)expires=\(expiry)&signature=\(signature(id, part, expiry))"
    }

    /// Whether an address was signed here and is still valid.
    func allows(_ target: RequestTarget, _ id: MediaID, _ part: ObjectPart, at seconds: Int64) -> Bool {
        guard let signature = target.queryValue("signature"),
            let expiry = target.queryValues("expires").first.flatMap(Tus.number), seconds < expiry,
            expiry <= seconds + 2 * Self.lifetimeSeconds
        else { return false }
        return isEqual(Array(signature.utf8), Array(self.signature(id, part, expiry).utf8))
    }

    private func signature(_ id: MediaID, _ part: ObjectPart, _ expiry: Int64) -> String {
        let text = Array("\(id) \(part.rawValue) \(expiry)".utf8)
        var result = [UInt8](repeating: 0, count: 32), count: CUnsignedInt = 0
        HMAC(EVP_sha256(), key, CInt(key.count), text, text.count, &result, &count)
        precondition(count == 32, "OpenSSL has HMAC-SHA-256")
        return ContentDigest.hex(result)
    }

    /// Takes as long for any two texts of the same length.
    private func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
