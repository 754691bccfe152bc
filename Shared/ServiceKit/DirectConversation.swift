import CCrypto
import Models

extension DirectConversation {
    package static func id(_ one: UserID, _ other: UserID) -> ConversationID {
        id(one, other) { text in
            let input = Array(text.utf8)
            var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
            SHA256(input, input.count, &digest)
            return digest
        }
    }
}
