import Models
import ParleyDigest

/// How what an archive names becomes an identifier: the same in every run, so that an import can be repeated.
enum ArchiveID {
    /// A name that is a UUID, in any case, is kept. Of any other the id is made.
    static func message(_ name: String) -> MessageID {
        MessageID(uuid(name) ?? made("message", name))
    }

    /// Of a message that goes in live, and whose name is no id that clients choose.
    static func liveMessage(_ name: String) -> MessageID { MessageID(made("message", name)) }

    /// Of a message that became several: those after the first.
    static func continuation(of name: String, number: Int) -> MessageID {
        MessageID(made("continuation", "\(number)\0\(name)"))
    }

    static func group(_ name: String) -> ConversationID {
        ConversationID(uuid(name) ?? made("group", name))
    }

    /// Of a group that is created live, which takes the ids that clients choose.
    static func liveGroup(_ id: ConversationID) -> ConversationID {
        [4, 7].contains(id.uuid.version) ? id : ConversationID(made("group", id.description))
    }

    /// Names an operation, for its repetitions.
    static func key(_ names: [String]) -> UUIDBytes { made("operation", names.joined(separator: "\0")) }

    /// Of a conversation of a log, which has a name alone.
    static func irc(_ name: String) -> ConversationID { ConversationID(made("irc", name)) }

    /// Of the message with this number, and of further ones where it became several.
    static func irc(_ name: String, _ number: Int64, piece: Int) -> MessageID {
        MessageID(made("irc", "\(name)\0\(number)\0\(piece)"))
    }

    /// The id that the server derives from the pair.
    static func direct(_ one: UserID, _ other: UserID) -> ConversationID {
        DirectConversation.id(one, other, sha256: SHA256Text.bytes(of:))
    }

    /// A user id for a name that is none.
    static func user(_ name: String) -> UserID {
        UserID("archive-\(SHA256Text.of("parley.archive\0user\0\(name)").prefix(24))")!  // Hexadecimal digits.
    }

    /// The first 128 bits of the SHA-256 over `parley.archive`, the kind and the name. They are marked as version 4,
    /// because clients may choose 4 and 7, and 8 is a direct conversation's.
    private static func made(_ kind: String, _ name: String) -> UUIDBytes {
        UUIDBytes(digest: SHA256Text.bytes(of: "parley.archive\0\(kind)\0\(name)"), version: 4)
    }

    private static func uuid(_ name: String) -> UUIDBytes? {
        guard let uuid = UUIDBytes(name.lowercased()), uuid.isStandardVariant, (1...8).contains(uuid.version) else {
            return nil
        }
        return uuid
    }
}
