import Bytes
import JSON
import Models

/// `sync`: the changes for a user since a cursor.
///
/// Layout: user name · has cursor 1 · cursor (see `SyncCursor`).
public struct SyncQuery: WireCodable, Hashable {
    public var user: UserID
    /// Nil for everything.
    public var since: SyncCursor?

    public init(_ user: UserID, since: SyncCursor?) {
        self.user = user
        self.since = since
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        since = try reader.number(UInt8.self) == 1 ? try SyncCursor(from: &reader) : nil
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(since == nil ? 0 : 1 as UInt8)
        since?.write(to: &buffer)
    }
}

/// The position of a client in everything that concerns its user.
///
/// Conversations are found by the transaction that last changed them. A transaction that was not visible to the
/// snapshot of the previous response has a number at or above that snapshot's lowest running transaction (PostgreSQL
/// Documentation, 9.27.8). So none is missed, however late it commits, without using a clock; some are repeated.
///
/// Layout: log id 16 · useq 8 · transaction 8 · next transaction 8 · after conversation 16. Clients get its text as an
/// opaque string: the same fields, separated by `_`.
public struct SyncCursor: WireCodable, Hashable {
    public var logID: UUIDBytes
    public var useq: Int64
    /// Conversations changed by this transaction or a later one are still to be read.
    public var transaction: Int64
    /// The value of `transaction` after the last page.
    public var nextTransaction: Int64
    /// Between two pages, the last conversation of the page. Zero after the last page.
    public var after: ConversationID

    public init(
        logID: UUIDBytes, useq: Int64, transaction: Int64, nextTransaction: Int64, after: ConversationID
    ) {
        self.logID = logID
        self.useq = useq
        self.transaction = transaction
        self.nextTransaction = nextTransaction
        self.after = after
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        logID = try reader.uuid()
        useq = try reader.position()
        transaction = try reader.number()
        nextTransaction = try reader.number()
        after = try reader.conversation()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(bigEndian: logID)
        buffer.append(bigEndian: useq)
        buffer.append(bigEndian: transaction)
        buffer.append(bigEndian: nextTransaction)
        buffer.append(after)
    }

    public init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, let logID = UUIDBytes(parts[0]), let after = UUIDBytes(parts[4]) else { return nil }
        let numbers = parts[1...3].compactMap { Int64($0) }
        guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }), numbers[0] <= JSONReader.maximumPosition else {
            return nil
        }
        self.init(
            logID: logID, useq: numbers[0], transaction: numbers[1], nextTransaction: numbers[2],
            after: ConversationID(after))
        // Other notations of the same numbers are refused.
        guard text == self.text else { return nil }
    }

    public var text: String { "\(logID)_\(useq)_\(transaction)_\(nextTransaction)_\(after)" }
}
