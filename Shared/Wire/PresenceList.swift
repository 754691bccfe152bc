import Bytes
import Models

/// All users that a process shows as online in one conversation. Each list replaces the previous one, so a lost list is
/// repaired by the next.
///
/// Layout: conversation 16 · asks 1 · count 1 × user name · count 1 × (user name · last seen 8 (ms)) · count 2 ×
/// `BlockMarks` (missing: none).
public struct PresenceList: WireCodable, Hashable {
    /// A user who is not shown any more because their last session ended.
    public struct Departure: Hashable, Sendable {
        public var user: UserID
        /// In full minutes.
        public var lastSeen: Timestamp

        public init(_ user: UserID, lastSeen: Timestamp) {
            self.user = user
            self.lastSeen = lastSeen
        }
    }

    public var conversation: ConversationID
    /// Whether the other processes should publish their lists of the conversation.
    public var asks: Bool
    /// Up to 255 users, like `departed`.
    public var online: [UserID]
    public var departed: [Departure]
    /// Whom some of these users have blocked: they are not shown to those.
    public var blocked: [BlockMarks]

    public init(
        _ conversation: ConversationID, asks: Bool, online: [UserID], departed: [Departure], blocked: [BlockMarks] = []
    ) {
        precondition(online.count <= UInt8.max && departed.count <= UInt8.max, "a list's length has one byte")
        self.conversation = conversation
        self.asks = asks
        self.online = online
        self.departed = departed
        self.blocked = blocked
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        asks = try reader.number(UInt8.self) == 1
        online = []
        for _ in 0..<(try reader.number(UInt8.self)) { online.append(try reader.user()) }
        departed = []
        for _ in 0..<(try reader.number(UInt8.self)) {
            departed.append(Departure(try reader.user(), lastSeen: try reader.time()))
        }
        blocked = []
        guard !reader.isAtEnd else { return }
        for _ in 0..<(try reader.number(UInt16.self)) { blocked.append(try BlockMarks(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(asks ? 1 : 0 as UInt8)
        buffer.append(UInt8(online.count))
        for user in online { buffer.append(user) }
        buffer.append(UInt8(departed.count))
        for departure in departed {
            buffer.append(departure.user)
            buffer.append(departure.lastSeen)
        }
        guard !blocked.isEmpty else { return }
        buffer.append(bigEndian: UInt16(blocked.count))
        for marks in blocked { marks.write(to: &buffer) }
    }
}
