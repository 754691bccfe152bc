import Bytes
import Models

// The erasure of users: an administrator's request, the steps in which stores and receipt services carry it out, and
// the announcement to the edges, which refuse the users' tokens.

/// `eraseUser`: erases everything of a user, once. Repeated, it reports the progress.
///
/// A command on the user's slot. Layout: user name.
/// Response: 202 while it runs and 200 when it is done, both with `{userId, requestedAt, erasedAt?, counts}`.
public struct EraseUser: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

/// `eraseStep`: one bounded step of an erasure, which may be repeated at any time. The owner of the user's slot sends
/// it to the owner of the step's slot.
///
/// A command. Layout: user name · part 1 · the part's fields.
/// Response: 200 with a position 8 at which the part continues; 0: it is done.
public struct EraseStep: WireCodable, Hashable {
    public enum Part: Hashable, Sendable {
        /// Ends the user's membership. On the conversation's slot. Fields: conversation 16.
        case leave(ConversationID)
        /// Messages, tapbacks and mentions after a position. On the conversation's slot. Fields: conversation 16 ·
        /// after 8.
        case content(ConversationID, after: Int64)
        /// The stays, and everything else about the user in the conversation. On its slot. Fields: conversation 16.
        case stays(ConversationID)
        /// The conversation in the user's list. On the user's slot. Fields: conversation 16.
        case listing(ConversationID)
        /// The rest: private stream, outcomes, settings. Afterwards the user is erased. On the user's slot.
        case remains
        /// The user's name in the blocks of another. On the slot of that user. Fields: user name.
        case block(of: UserID)
    }

    public var user: UserID
    public var part: Part

    public init(_ user: UserID, _ part: Part) {
        self.user = user
        self.part = part
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        let number: UInt8 = try reader.number()
        part =
            switch number {
            case 1: .leave(try reader.conversation())
            case 2: .content(try reader.conversation(), after: try reader.position())
            case 3: .stays(try reader.conversation())
            case 4: .listing(try reader.conversation())
            case 5: .remains
            case 6: .block(of: try reader.user())
            default: throw .unknownValue(field: "erasure part", UInt64(number))
            }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(number)
        switch part {
        case .leave(let conversation), .stays(let conversation), .listing(let conversation):
            buffer.append(conversation)
        case .content(let conversation, let after):
            buffer.append(conversation)
            buffer.append(bigEndian: after)
        case .remains: break
        case .block(let blocker): buffer.append(blocker)
        }
    }

    private var number: UInt8 {
        switch part {
        case .leave: 1
        case .content: 2
        case .stays: 3
        case .listing: 4
        case .remains: 5
        case .block: 6
        }
    }

    /// The slot whose owner carries the step out.
    public var slot: Slot {
        switch part {
        case .leave(let conversation), .content(let conversation, _), .stays(let conversation): conversation.slot
        case .listing, .remains: user.slot
        case .block(let blocker): blocker.slot
        }
    }
}

/// `erase` of receipt: removes the receipts of a user in a conversation, after the stays are removed, so that none are
/// added.
///
/// On the conversation's slot. Layout: conversation 16 · user name. Response: 202 when there is more, 204 when it is
/// done.
public struct EraseReceipts: WireCodable, Hashable {
    public var conversation: ConversationID
    public var user: UserID

    public init(_ conversation: ConversationID, of user: UserID) {
        self.conversation = conversation
        self.user = user
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        user = try reader.user()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(user)
    }
}

/// `erasedUsers`: the erased users of a slot after a number. They are numbered per slot from 1, without gaps, and never
/// removed.
///
/// A query. Layout: slot 1 · after 8. Response: last number of the slot 8 · user names, ascending by number, to the
/// end. If they end before the last number, there are more.
public struct ErasedUsersQuery: WireCodable, Hashable {
    public var slot: Slot
    public var after: Int64

    public init(_ slot: Slot, after: Int64) {
        self.slot = slot
        self.after = after
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        after = try reader.position()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: after)
    }
}

/// store → ingest, fanout (topic `X`): the number of erased users of a slot. The slot's owner publishes it once a
/// second, and at once, with the name, when a user is to be erased: an up-to-date subscriber then needs no query. The
/// number only grows, so the highest one received is valid.
///
/// Layout: slot 1 · count 8 · name of the last user (empty: not included).
public struct ErasureEntry: WireCodable, Hashable {
    public var slot: Slot
    public var count: Int64
    public var latest: UserID?

    public init(_ slot: Slot, count: Int64, latest: UserID? = nil) {
        self.slot = slot
        self.count = count
        self.latest = latest
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        count = try reader.position()
        latest = try reader.optionalUser()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: count)
        buffer.append(name: latest?.name ?? "")
    }
}
