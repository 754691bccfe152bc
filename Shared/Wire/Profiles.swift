import Bytes
import Models

/// `putProfile`: replaces a user's profile. A command on the user's slot, which may be repeated under its key at any time.
///
/// Layout: user name · key 16 (zero: none) · display name, avatar URL and the application's own JSON: each length 2, UTF-8
/// (empty: none).
/// Response: 200 with the profile in force, as JSON, or a `Problem`.
public struct PutProfile: WireCodable, Hashable {
    /// Stored with outcomes, of no conversation.
    public static let number: UInt8 = 14

    public var user: UserID
    public var key: UUIDBytes?
    public var displayName: String
    public var avatarURL: String
    /// An object, as the client wrote it.
    public var extra: String

    public init(_ user: UserID, key: UUIDBytes?, displayName: String = "", avatarURL: String = "", extra: String = "") {
        self.user = user
        self.key = key
        self.displayName = displayName
        self.avatarURL = avatarURL
        self.extra = extra
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        let uuid = try reader.uuid()
        key = uuid == .zero ? nil : uuid
        displayName = try reader.shortText()
        avatarURL = try reader.shortText()
        extra = try reader.shortText()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: key ?? .zero)
        for text in [displayName, avatarURL, extra] {
            buffer.append(bigEndian: UInt16(text.utf8.count))
            buffer.append(utf8: text)
        }
    }
}

/// `profiles`: those of these users' profiles that the reader may read and does not have in this version.
///
/// Layout: reader name · reads all 1 (an administrator, who is no user) · count 2 × (user name · version 8; 0: none).
/// Response: JSON.
public struct ProfilesQuery: WireCodable, Hashable {
    public struct Item: Hashable, Sendable {
        public var user: UserID
        public var version: Int64

        public init(_ user: UserID, version: Int64 = 0) {
            self.user = user
            self.version = version
        }
    }

    public var reader: UserID
    public var readsAll: Bool
    public var items: [Item]

    public init(reader: UserID, readsAll: Bool = false, _ items: [Item]) {
        self.reader = reader
        self.readsAll = readsAll
        self.items = items
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        reader = try bytes.user()
        readsAll = try bytes.number(UInt8.self) == 1
        items = []
        for _ in 0..<(try bytes.number(UInt16.self)) {
            items.append(Item(try bytes.user(), version: try bytes.position()))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(reader)
        buffer.append(readsAll ? 1 : 0 as UInt8)
        buffer.append(bigEndian: UInt16(items.count))
        for item in items {
            buffer.append(item.user)
            buffer.append(bigEndian: item.version)
        }
    }
}

/// A changed profile, for open sessions: whose, and the conversations of one group of slots by which others know the user.
///
/// Layout: user name · version 8 · count 2 × conversation 16.
public struct ProfileNews: WireCodable, Hashable {
    /// Of one entry.
    public static let limit = 1_024

    public var user: UserID
    public var version: Int64
    public var conversations: [ConversationID]

    public init(_ user: UserID, version: Int64, _ conversations: [ConversationID]) {
        precondition(conversations.count <= Self.limit, "the rest goes into the next entry")
        self.user = user
        self.version = version
        self.conversations = conversations
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        version = try reader.position()
        conversations = []
        for _ in 0..<(try reader.number(UInt16.self)) { conversations.append(try reader.conversation()) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: version)
        buffer.append(bigEndian: UInt16(conversations.count))
        for conversation in conversations { buffer.append(conversation) }
    }
}

extension ByteReader {
    fileprivate mutating func shortText() throws(WireError) -> String {
        String(decoding: try bytes(Int(try number(UInt16.self))), as: UTF8.self)
    }
}
