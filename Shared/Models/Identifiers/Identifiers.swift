/// The identifier of a conversation. The client chooses it (UUID version 4 or 7); for a direct conversation it is
/// derived from the pair of users (version 8).
public struct ConversationID: Hashable, Sendable {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }

    /// The unit of ownership and partitioning that the conversation belongs to.
    public var slot: Slot { Slot(uuid.lastByte) }
}

/// The identifier of a message, unique within its conversation. The client chooses it (UUID version 4 or 7), and it
/// identifies repetitions.
public struct MessageID: Hashable, Sendable {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
}

/// The identifier of an uploaded file, which messages of its uploader may carry. The service `media` chooses it.
public struct MediaID: Hashable, Sendable {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
}

/// The identifier of an invitation, unique within its conversation. The client chooses it (UUID version 4 or 7), and it
/// identifies repetitions. It is no secret and opens nothing: the code does.
public struct InvitationID: Hashable, Sendable {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
}

/// The identifier of a report, unique within its conversation. The client chooses it (UUID version 4 or 7), and it
/// identifies repetitions.
public struct ReportID: Hashable, Sendable {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
}

extension ConversationID: CustomStringConvertible { public var description: String { uuid.description } }
extension MessageID: CustomStringConvertible { public var description: String { uuid.description } }
extension MediaID: CustomStringConvertible { public var description: String { uuid.description } }
extension InvitationID: CustomStringConvertible { public var description: String { uuid.description } }
extension ReportID: CustomStringConvertible { public var description: String { uuid.description } }

/// The name of a user, chosen by the embedding application: 1–64 characters of `A–Z a–z 0–9 . _ - @ : +`.
public struct UserID: Hashable, Sendable {
    public static let maximumLength = 64

    public let name: String

    public init?(_ name: String) {
        guard (1...Self.maximumLength).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.name = name
    }

    public init?(bytes name: UnsafeRawBufferPointer) {
        guard (1...Self.maximumLength).contains(name.count), name.allSatisfy(Self.isAllowed) else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
    }

    /// Takes over bytes that were checked before they were stored, as in a row of the database.
    public init(trusted bytes: UnsafeRawBufferPointer) {
        name = String(decoding: bytes, as: UTF8.self)
    }

    public var slot: Slot { Slot(ofUserNamed: name) }

    private static func isAllowed(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "@"), UInt8(ascii: ":"),
            UInt8(ascii: "+"):
            true
        default:
            false
        }
    }
}

extension UserID: Comparable {
    /// Byte order, which is PostgreSQL's order under the collation `C`.
    public static func < (left: Self, right: Self) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }
}

extension UserID: CustomStringConvertible { public var description: String { name } }
