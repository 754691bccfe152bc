import Bytes
import Models

/// fanout, store → fanout (topic `T`): events for open sessions only, never stored.
///
/// Layout: kind 1 · fields. Kind 1, typing: conversation 16 · user name · active 1. Kind 2, superseded: user name ·
/// length 4 · device, UTF-8 · age 8 (ms). Kind 3, presence: see `PresenceList`. Kind 4, alive: nothing. Kind 5, profile, from
/// the store: see `ProfileNews`. Numbers are retired, never reused.
public enum EphemeralEntry: WireCodable, Hashable {
    /// A member started, continues or stopped typing. In the group of the conversation.
    case typing(ConversationID, UserID, isActive: Bool)
    /// A session of this device was opened `age` milliseconds ago: earlier sessions of the device end. Repeated while
    /// the session is open. In the group of the user.
    case superseded(UserID, device: String, age: Int64)
    /// The users that the sender shows as online in a conversation. In the group of the conversation.
    case presence(PresenceList)
    /// A heartbeat of the sender, every two seconds: the users it shows as online still are. In the first group.
    case alive
    /// A user's profile changed. In the group of the conversations.
    case profile(ProfileNews)

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.number()
        switch kind {
        case 1:
            self = .typing(try reader.conversation(), try reader.user(), isActive: try reader.number(UInt8.self) == 1)
        case 2:
            self = .superseded(
                try reader.user(), device: String(decoding: try reader.long(), as: UTF8.self),
                age: try reader.position())
        case 3: self = .presence(try PresenceList(from: &reader))
        case 4: self = .alive
        case 5: self = .profile(try ProfileNews(from: &reader))
        default: throw .unknownValue(field: "ephemeral kind", UInt64(kind))
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        switch self {
        case .typing(let conversation, let user, let isActive):
            buffer.append(UInt8(1))
            buffer.append(conversation)
            buffer.append(user)
            buffer.append(isActive ? 1 : 0 as UInt8)
        case .superseded(let user, let device, let age):
            buffer.append(UInt8(2))
            buffer.append(user)
            buffer.appendLong { $0.append(utf8: device) }
            buffer.append(bigEndian: age)
        case .presence(let list):
            buffer.append(UInt8(3))
            list.write(to: &buffer)
        case .alive:
            buffer.append(UInt8(4))
        case .profile(let news):
            buffer.append(UInt8(5))
            news.write(to: &buffer)
        }
    }
}
