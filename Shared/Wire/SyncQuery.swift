import Bytes
import JSON
import Models

/// `sync`: the changes for a user since a cursor.
///
/// Layout: user name · 1 with a cursor, 2 with one of several nodes, else 0 1 · cursor (see `SyncCursor`).
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
        let kind: UInt8 = try reader.number()
        since = kind == 1 || kind == 2 ? try SyncCursor(from: &reader) : nil
        if kind == 2 { since?.nodes = try SyncCursor.Nodes(from: &reader) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(since.map { $0.nodes == nil ? 1 : 2 } ?? 0 as UInt8)
        since?.write(to: &buffer)
        since?.nodes?.write(to: &buffer)
    }
}

/// The position of a client in everything that concerns its user.
///
/// Conversations are found by the transaction that last changed them. A transaction that was not visible to the
/// snapshot of the previous response has a number at or above that snapshot's lowest running transaction (PostgreSQL
/// Documentation, 9.27.8). So none is missed, however late it commits, without using a clock; some are repeated.
///
/// On a database of several nodes each has numbers of its own, and the cursor has those of each node (`Nodes`).
///
/// Layout: log id 16 · useq 8 · transaction 8 · next transaction 8 · after conversation 16. Clients get its text as an
/// opaque string: the same fields, separated by `_`. In the place of the transactions it has those of the nodes.
public struct SyncCursor: WireCodable, Hashable {
    public var logID: UUIDBytes
    public var useq: Int64
    /// Conversations changed by this transaction or a later one are still to be read.
    public var transaction: Int64
    /// The value of `transaction` after the last page.
    public var nextTransaction: Int64
    /// Between two pages, the last conversation of the page. Zero after the last page.
    public var after: ConversationID
    /// Of a database of several nodes, where the two transactions are 0.
    public var nodes: Nodes?

    /// The transactions of each node in which the user has conversations. From a node that is not among them everything is due.
    ///
    /// Layout: useq 8 · nodes 1 × (group 4 · transaction 8 · next transaction 8). Text:
    /// `useq-1n750n812-…`, the three numbers of a node with `n` between them.
    public struct Nodes: Hashable, Sendable {
        /// The most nodes that a cursor has numbers of. From others everything is sent again.
        public static let limit = 32

        public struct Transactions: Hashable, Sendable {
            /// As of the cursor of one node.
            public var since: Int64
            public var next: Int64

            public init(since: Int64, next: Int64) {
                self.since = since
                self.next = next
            }
        }

        /// The position of the private stream from which the round began: into which conversations the user has come since.
        public var useq: Int64
        /// By the number that Citus gives the node, its group.
        public private(set) var transactions: [Int32: Transactions]

        public init(useq: Int64, _ transactions: [Int32: Transactions] = [:]) {
            self.useq = useq
            self.transactions = Dictionary(
                uniqueKeysWithValues: transactions.sorted { $0.key < $1.key }.prefix(Self.limit).map { ($0, $1) })
        }

        init(from reader: inout ByteReader) throws(WireError) {
            useq = try reader.position()
            transactions = [:]
            for _ in 0..<min(Self.limit, Int(try reader.number(UInt8.self))) {
                let group = Int32(bitPattern: try reader.number(UInt32.self))
                let since: Int64 = try reader.number(), next: Int64 = try reader.number()
                guard group >= 0, since >= 0, next >= 0 else {
                    throw .unknownValue(field: "node", UInt64(UInt32(bitPattern: group)))
                }
                transactions[group] = Transactions(since: since, next: next)
            }
        }

        func write(to buffer: inout ByteBuffer) {
            buffer.append(bigEndian: useq)
            buffer.append(UInt8(transactions.count))
            for (group, numbers) in transactions.sorted(by: { $0.key < $1.key }) {
                buffer.append(bigEndian: UInt32(bitPattern: group))
                buffer.append(bigEndian: numbers.since)
                buffer.append(bigEndian: numbers.next)
            }
        }

        init?(text: String) {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count <= 1 + Self.limit, let useq = Int64(parts[0]), 0...JSONReader.maximumPosition ~= useq
            else {
                return nil
            }
            var transactions: [Int32: Transactions] = [:]
            for part in parts.dropFirst() {
                let numbers = part.split(separator: "n", omittingEmptySubsequences: false).compactMap { Int64($0) }
                guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }), let group = Int32(exactly: numbers[0]) else {
                    return nil
                }
                transactions[group] = Transactions(since: numbers[1], next: numbers[2])
            }
            self.init(useq: useq, transactions)
        }

        var text: String {
            (["\(useq)"]
                + transactions.sorted { $0.key < $1.key }.map { "\($0)n\($1.since)n\($1.next)" })
                .joined(separator: "-")
        }
    }

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
        if parts.count == 4 {
            guard let logID = UUIDBytes(parts[0]), let useq = Int64(parts[1]), 0...JSONReader.maximumPosition ~= useq,
                let nodes = Nodes(text: parts[2]), let after = UUIDBytes(parts[3])
            else { return nil }
            self.init(logID: logID, useq: useq, transaction: 0, nextTransaction: 0, after: ConversationID(after))
            self.nodes = nodes
            guard text == self.text else { return nil }
            return
        }
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

    public var text: String {
        let transactions = nodes?.text ?? "\(transaction)_\(nextTransaction)"
        return "\(logID)_\(useq)_\(transactions)_\(after)"
    }
}
