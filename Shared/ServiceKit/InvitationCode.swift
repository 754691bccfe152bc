import Models

/// What opens a group to whoever has it: the conversation, in which all that it needs is looked up, and a secret.
///
/// Its text is for links: 43 characters of base64url (RFC 4648, 5).
public struct InvitationCode: Hashable, Sendable {
    public let conversation: ConversationID
    /// 128 random bits. They are in no table: see `hash`.
    public let secret: UUIDBytes

    public init(_ conversation: ConversationID, secret: UUIDBytes) {
        self.conversation = conversation
        self.secret = secret
    }

    /// A code that nobody can guess, from the randomness of the system.
    public init(for conversation: ConversationID, from random: inout SystemRandomNumberGenerator) {
        self.init(conversation, secret: UUIDBytes(high: random.next(), low: random.next()))
    }

    /// Nil for what is no code: another notation of the same bytes neither.
    public init?(text: String) {
        guard text.utf8.count == 43, let bytes = Base64URL.decoded(text) else { return nil }
        let conversation = UUIDBytes(bytes[0..<16])
        guard conversation.isStandardVariant else { return nil }
        self.init(ConversationID(conversation), secret: UUIDBytes(bytes[16..<32]))
    }

    public var text: String { Base64URL.encoded(conversation.uuid.bytes + secret.bytes) }

    /// What the database keeps of a secret: the first 128 bits of its SHA-256. Codes that were given out have these hashes:
    /// this must never change.
    public static func hash(of secret: UUIDBytes) -> UUIDBytes {
        UUIDBytes(SHA256.digest(of: Array("parley.invitation\0".utf8) + secret.bytes)[0..<16])
    }
}

extension UUIDBytes {
    fileprivate init(_ bytes: ArraySlice<UInt8>) {
        let words = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } }
        self.init(high: words[0], low: words[1])
    }

    fileprivate var bytes: [UInt8] {
        [high, low].flatMap { word in stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }
}

extension Problem {
    /// Whoever may not know of an invitation gets the same as for a code that nobody has given out.
    public static let unknownInvitation = Problem(.notFound, "there is no such invitation")
}
