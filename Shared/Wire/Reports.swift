import Bytes
import Models

/// A report to be made: of a message, of a person, or of both.
///
/// Layout: report 16 · message 16 (zero: none) · user name (empty: none) · reason 1 · text (the rest, UTF-8; empty: none).
public struct NewReport: WireCodable, Hashable {
    public var id: ReportID
    public var message: MessageID?
    public var user: UserID?
    public var reason: ReportReason
    public var text: String

    public init(
        id: ReportID, message: MessageID? = nil, user: UserID? = nil, reason: ReportReason, text: String = ""
    ) {
        self.id = id
        self.message = message
        self.user = user
        self.reason = reason
        self.text = text
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.report()
        message = try reader.optionalMessage()
        user = try reader.optionalUser()
        let number: UInt8 = try reader.number()
        guard let reason = ReportReason(rawValue: number) else {
            throw .unknownValue(field: "report reason", UInt64(number))
        }
        self.reason = reason
        text = String(decoding: reader.readRest(), as: UTF8.self)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(id)
        buffer.append(message)
        buffer.append(name: user?.name ?? "")
        buffer.append(reason.rawValue)
        buffer.append(utf8: text)
    }
}

/// What an administrator did about a report.
///
/// Layout: report 16 · action 1 · note (the rest, UTF-8; empty: none).
public struct ReportResolution: WireCodable, Hashable {
    public var report: ReportID
    public var action: ReportAction
    public var note: String

    public init(of report: ReportID, _ action: ReportAction, note: String = "") {
        self.report = report
        self.action = action
        self.note = note
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        report = try reader.report()
        let number: UInt8 = try reader.number()
        guard let action = ReportAction(rawValue: number) else {
            throw .unknownValue(field: "report action", UInt64(number))
        }
        self.action = action
        note = String(decoding: reader.readRest(), as: UTF8.self)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(report)
        buffer.append(action.rawValue)
        buffer.append(utf8: note)
    }
}

/// `report`: a report, for an administrator.
///
/// Layout: conversation 16 · administrator name · report 16.
public struct ReportQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var report: ReportID

    public init(_ head: ConversationQuery, report: ReportID) {
        self.head = head
        self.report = report
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        report = try bytes.report()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(report)
    }
}

/// `reports`: the first reports of a slot behind a place, in their order.
///
/// Layout: administrator name · slot 1 · 1: open, 0: resolved · limit 2 · after: see `ReportCursor`.
/// Response: `ReportsOfSlot`.
public struct ReportsQuery: WireCodable, Hashable {
    public var administrator: UserID
    public var slot: Slot
    public var areOpen: Bool
    public var limit: UInt16
    public var after: ReportCursor

    public init(by administrator: UserID, in slot: Slot, areOpen: Bool, limit: UInt16, after: ReportCursor) {
        self.administrator = administrator
        self.slot = slot
        self.areOpen = areOpen
        self.limit = limit
        self.after = after
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        administrator = try bytes.user()
        slot = Slot(try bytes.number())
        areOpen = try bytes.number(UInt8.self) == 1
        limit = try bytes.number()
        after = try ReportCursor(from: &bytes)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(administrator)
        buffer.append(slot.number)
        buffer.append(areOpen ? 1 : 0 as UInt8)
        buffer.append(bigEndian: limit)
        after.write(to: &buffer)
    }
}

/// A place among the reports of all conversations, which are in the order of their times, and of one time in that of their ids.
/// Clients get its text as an opaque string: milliseconds, `_`, conversation id, `_`, report id.
///
/// Layout: created at 8 (ms) · conversation 16 · report 16.
public struct ReportCursor: WireCodable, Hashable, Comparable {
    public var createdAt: Timestamp
    public var conversation: ConversationID
    public var report: ReportID

    public init(createdAt: Timestamp, conversation: ConversationID, report: ReportID) {
        self.createdAt = createdAt
        self.conversation = conversation
        self.report = report
    }

    /// The place before the first report.
    public static let start = ReportCursor(
        createdAt: Timestamp(milliseconds: 0), conversation: ConversationID(.zero), report: ReportID(.zero))

    public init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let milliseconds = Int64(parts[0]), let conversation = UUIDBytes(String(parts[1])),
            let report = UUIDBytes(String(parts[2])),
            (0...ActivityCursor.start.lastActivityAt.milliseconds).contains(milliseconds)
        else { return nil }
        self.init(
            createdAt: Timestamp(milliseconds: milliseconds), conversation: ConversationID(conversation),
            report: ReportID(report))
        // Other notations of the same numbers are refused.
        guard text == self.text else { return nil }
    }

    public var text: String { "\(createdAt.milliseconds)_\(conversation)_\(report)" }

    public init(from reader: inout ByteReader) throws(WireError) {
        createdAt = try reader.time()
        conversation = try reader.conversation()
        report = try reader.report()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(createdAt)
        buffer.append(conversation)
        buffer.append(report)
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.createdAt.milliseconds, left.conversation.uuid, left.report.uuid)
            < (right.createdAt.milliseconds, right.conversation.uuid, right.report.uuid)
    }
}

/// The response to `reports`. The reports are in their order, and borrow the memory of the frame.
///
/// Layout: 1 if the slot has more behind the last one 1 · reports × (see `ReportCursor` · length 4 · its client JSON).
public enum ReportsOfSlot {
    public static func writeHead(hasMore: Bool, to buffer: inout ByteBuffer) { buffer.append(hasMore ? 1 : 0 as UInt8) }

    public static func append(
        at place: ReportCursor, to buffer: inout ByteBuffer, _ json: (inout ByteBuffer) -> Void
    ) {
        place.write(to: &buffer)
        buffer.appendLong(json)
    }

    public static func readHead(from reader: inout ByteReader) throws(WireError) -> Bool {
        try reader.number(UInt8.self) == 1
    }

    /// Nil: there are no more.
    public static func next(
        from reader: inout ByteReader
    ) throws(WireError) -> (place: ReportCursor, json: UnsafeRawBufferPointer)? {
        guard reader.remaining > 0 else { return nil }
        return (try ReportCursor(from: &reader), try reader.long())
    }
}
