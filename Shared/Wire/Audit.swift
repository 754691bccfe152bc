import Bytes
import Models

// The audit log: what administrators did. It is one sequence for the whole deployment, in one slot.

extension Slot {
    /// That of the audit log.
    public static let ofAuditLog = Slot(0)
}

/// `recordAct`: adds an act to the log, before it is carried out.
///
/// A command on `Slot.ofAuditLog`. Layout: id 16 · administrator name · user name (empty: none) · call name · conversation 16
/// (zero: none) · target name (empty: none) · detail name (empty: none).
/// Response: 200, without a body.
public struct RecordAct: WireCodable, Hashable {
    /// Identifies repetitions. Clients do not see it.
    public var id: UUIDBytes
    public var administrator: UserID
    /// For whom the administrator acts.
    public var user: UserID?
    /// The name of the call in the contract (`operationId`).
    public var call: String
    public var conversation: ConversationID?
    /// What the call names besides a conversation, up to 255 bytes.
    public var target: String
    /// Which of the things that the call can do. No text of a user's.
    public var detail: String

    public init(
        _ id: UUIDBytes, by administrator: UserID, for user: UserID?, call: String, in conversation: ConversationID?,
        target: String = "", detail: String = ""
    ) {
        self.id = id
        self.administrator = administrator
        self.user = user
        self.call = call
        self.conversation = conversation
        self.target = target
        self.detail = detail
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.uuid()
        administrator = try reader.user()
        user = try reader.optionalUser()
        call = try reader.text()
        let conversation = try reader.conversation()
        self.conversation = conversation.uuid == .zero ? nil : conversation
        target = try reader.text()
        detail = try reader.text()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: id)
        buffer.append(administrator)
        buffer.append(name: user?.name ?? "")
        buffer.append(name: call)
        buffer.append(conversation ?? ConversationID(.zero))
        buffer.append(name: target)
        buffer.append(name: detail)
    }
}

/// `endAct`: notes the status of the response to an act in the log. The first one stays.
///
/// A command on `Slot.ofAuditLog`. Layout: id 16 · status 2. Response: 200, without a body.
public struct EndAct: WireCodable, Hashable {
    public var id: UUIDBytes
    public var status: UInt16

    public init(_ id: UUIDBytes, status: UInt16) {
        self.id = id
        self.status = status
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.uuid()
        status = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: id)
        buffer.append(bigEndian: status)
    }
}

/// `acts`: a page of the log.
///
/// A query on `Slot.ofAuditLog`. Layout: administrator name · after 8 (a number in the log) · limit 2.
public struct ActsQuery: WireCodable, Hashable {
    public var administrator: UserID
    public var after: Int64
    public var limit: UInt16

    public init(by administrator: UserID, after: Int64, limit: UInt16) {
        self.administrator = administrator
        self.after = after
        self.limit = limit
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        administrator = try reader.user()
        after = try reader.position()
        limit = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(administrator)
        buffer.append(bigEndian: after)
        buffer.append(bigEndian: limit)
    }
}

extension ByteReader {
    fileprivate mutating func text() throws(WireError) -> String { String(decoding: try name(), as: UTF8.self) }
}
