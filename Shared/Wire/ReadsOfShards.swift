import Bytes
import Models

// What stores ask each other on a database whose slots are on several nodes (decision 0086).

/// `userRows`: rows of tables of users, for statements that run where a conversation is. All users have slots of the shard
/// that is asked.
///
/// Layout: tables 1 × name · users 2 × name · conversations 4 × 16 · rows of each user 2.
/// Response: `UserRowsAnswer`.
public struct UserRowsQuery: WireCodable, Hashable {
    /// The most users and conversations of one request.
    public static let limit = 20_000

    /// With their schema.
    public var tables: [String]
    public var users: [UserID]
    /// Of tables with conversations only the rows of these; none: all.
    public var conversations: [ConversationID]
    /// No more rows of a user than this; 0: all. It is for lists that are looked through only if they are short, so what a
    /// user writes into them is left out.
    public var rowsOfUser: UInt16

    public init(
        _ tables: [String], of users: [UserID], in conversations: [ConversationID] = [], rowsOfUser: UInt16 = 0
    ) {
        self.tables = tables
        self.users = users
        self.conversations = conversations
        self.rowsOfUser = rowsOfUser
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        tables = []
        for _ in 0..<(try reader.number(UInt8.self)) { tables.append(try reader.table()) }
        users = []
        for _ in 0..<(try reader.number(UInt16.self)) { users.append(try reader.user()) }
        conversations = []
        let count = try reader.number(UInt32.self)
        guard users.count <= Self.limit, count <= Self.limit else {
            throw .unknownValue(field: "count of users or conversations", UInt64(count))
        }
        for _ in 0..<count { conversations.append(try reader.conversation()) }
        rowsOfUser = try reader.number()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(tables.count))
        for table in tables { buffer.append(name: table) }
        buffer.append(bigEndian: UInt16(users.count))
        for user in users { buffer.append(user) }
        buffer.append(bigEndian: UInt32(conversations.count))
        for conversation in conversations { buffer.append(conversation) }
        buffer.append(bigEndian: rowsOfUser)
    }
}

/// The response to `userRows`: for each table that was asked for its rows by the slot of their conversation, as PostgreSQL
/// writes an array of them: `{"(…)","(…)"}`.
///
/// Layout: tables 1 × (name · groups 2 × (slot 2, -1 for none · rows 4 · text length 4, UTF-8)).
public struct UserRowsAnswer: WireCodable, Hashable {
    public struct Group: Hashable, Sendable {
        /// Nil: the rows have no conversation, or are those of a user who has more than were asked for.
        public var slot: Slot?
        public var rowCount: Int
        /// With the braces.
        public var text: [UInt8]

        public init(slot: Slot?, rowCount: Int, text: [UInt8]) {
            self.slot = slot
            self.rowCount = rowCount
            self.text = text
        }
    }

    public var tables: [String: [Group]]

    public init(_ tables: [String: [Group]] = [:]) { self.tables = tables }

    /// The rows of a table as one array: those of some slots and those without one; nil: all.
    public func rows(of table: String, in slots: Set<Slot>? = nil) -> [UInt8] {
        let groups = (tables[table] ?? []).filter { group in
            guard let slots, let slot = group.slot else { return true }
            return slots.contains(slot)
        }
        return Self.joined(groups.map(\.text))
    }

    /// The slots of conversations of which there are rows.
    public func slots(of tables: some Sequence<String>) -> Set<Slot> {
        Set(tables.lazy.flatMap { self.tables[$0] ?? [] }.compactMap(\.slot))
    }

    /// Adds what another shard has answered.
    public mutating func add(_ other: UserRowsAnswer) { tables.merge(other.tables) { $0 + $1 } }

    /// Several arrays as one.
    public static func joined(_ texts: [[UInt8]]) -> [UInt8] {
        var joined: [UInt8] = [UInt8(ascii: "{")]
        joined.reserveCapacity(texts.reduce(2) { $0 + $1.count })
        for text in texts where text.count > 2 {
            if joined.count > 1 { joined.append(UInt8(ascii: ",")) }
            joined += text.dropFirst().dropLast()
        }
        joined.append(UInt8(ascii: "}"))
        return joined
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        tables = [:]
        for _ in 0..<(try reader.number(UInt8.self)) {
            let table = try reader.table()
            var groups: [Group] = []
            for _ in 0..<(try reader.number(UInt16.self)) {
                let number = Int16(bitPattern: try reader.number(UInt16.self))
                guard -1...255 ~= number else { throw .unknownValue(field: "slot", UInt64(UInt16(bitPattern: number))) }
                let rowCount = Int(try reader.number(UInt32.self))
                let text = Array(try reader.long())
                guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), text.count >= 2 else {
                    throw .unknownValue(field: "array of rows", UInt64(text.count))
                }
                groups.append(Group(slot: number < 0 ? nil : Slot(UInt8(number)), rowCount: rowCount, text: text))
            }
            tables[table] = groups
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(tables.count))
        for (table, groups) in tables.sorted(by: { $0.key < $1.key }) {
            buffer.append(name: table)
            buffer.append(bigEndian: UInt16(groups.count))
            for group in groups {
                buffer.append(bigEndian: UInt16(bitPattern: group.slot.map { Int16($0.number) } ?? -1))
                buffer.append(bigEndian: UInt32(group.rowCount))
                group.text.withUnsafeBytes { buffer.append(long: $0) }
            }
        }
    }
}

/// `statement`: runs prepared statements that read, in one transaction, with the tables of the shard that the request's slot
/// is in.
///
/// Layout: requester: 0, or 1 · user name, or 2 · conversation 16 · 1 if the rows are many 1 · 1 for the connection of
/// searches 1 · texts 2 × (length 4, UTF-8) · statements 2 × (name · values 1 × (length 4, 0xFFFFFFFF for NULL · bytes) ·
/// borrowed 1 × place among the texts 2).
/// Response: `StatementAnswer`.
public struct StatementQuery: WireCodable, Hashable {
    public enum Requester: Hashable, Sendable {
        case service
        case user(UserID)
        case conversation(ConversationID)
    }

    public struct Run: Hashable, Sendable {
        public var statement: String
        /// In PostgreSQL's binary form.
        public var values: [[UInt8]?]
        /// The places of the texts that follow them.
        public var borrowed: [Int]

        public init(_ statement: String, values: [[UInt8]?], borrowed: [Int] = []) {
            self.statement = statement
            self.values = values
            self.borrowed = borrowed
        }
    }

    public var requester: Requester
    public var isHeavy: Bool
    public var isSearch: Bool
    /// Rows that statements borrow, which several of them may need.
    public var texts: [[UInt8]]
    public var runs: [Run]

    public init(
        _ runs: [Run], for requester: Requester, texts: [[UInt8]] = [], isHeavy: Bool = false, isSearch: Bool = false
    ) {
        self.runs = runs
        self.requester = requester
        self.texts = texts
        self.isHeavy = isHeavy
        self.isSearch = isSearch
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.number()
        switch kind {
        case 0: requester = .service
        case 1: requester = .user(try reader.user())
        case 2: requester = .conversation(try reader.conversation())
        default: throw .unknownValue(field: "requester", UInt64(kind))
        }
        isHeavy = try reader.number(UInt8.self) == 1
        isSearch = try reader.number(UInt8.self) == 1
        texts = []
        for _ in 0..<(try reader.number(UInt16.self)) { texts.append(Array(try reader.long())) }
        runs = []
        for _ in 0..<(try reader.number(UInt16.self)) {
            runs.append(try Self.run(from: &reader, textCount: texts.count))
        }
    }

    private static func run(from reader: inout ByteReader, textCount: Int) throws(WireError) -> Run {
        let statement = try reader.table()
        var values: [[UInt8]?] = []
        for _ in 0..<(try reader.number(UInt8.self)) {
            let length: UInt32 = try reader.number()
            values.append(length == .max ? nil : Array(try reader.bytes(Int(length))))
        }
        var borrowed: [Int] = []
        for _ in 0..<(try reader.number(UInt8.self)) {
            let place = Int(try reader.number(UInt16.self))
            guard place < textCount else { throw .unknownValue(field: "place of a text", UInt64(place)) }
            borrowed.append(place)
        }
        return Run(statement, values: values, borrowed: borrowed)
    }

    public func write(to buffer: inout ByteBuffer) {
        switch requester {
        case .service: buffer.append(0 as UInt8)
        case .user(let user):
            buffer.append(1 as UInt8)
            buffer.append(user)
        case .conversation(let conversation):
            buffer.append(2 as UInt8)
            buffer.append(conversation)
        }
        buffer.append(isHeavy ? 1 : 0 as UInt8)
        buffer.append(isSearch ? 1 : 0 as UInt8)
        buffer.append(bigEndian: UInt16(texts.count))
        for text in texts { text.withUnsafeBytes { buffer.append(long: $0) } }
        buffer.append(bigEndian: UInt16(runs.count))
        for run in runs {
            buffer.append(name: run.statement)
            buffer.append(UInt8(run.values.count))
            for value in run.values {
                if let value {
                    value.withUnsafeBytes { buffer.append(long: $0) }
                } else {
                    buffer.append(bigEndian: UInt32.max)
                }
            }
            buffer.append(UInt8(run.borrowed.count))
            for place in run.borrowed { buffer.append(bigEndian: UInt16(place)) }
        }
    }
}

/// The response to `statement`: what PostgreSQL refused it with, or the rows of each statement.
///
/// Layout: code of the error, a name, empty: none · rows (their layout is that of `Rows` in `Shared/Postgres`).
public struct StatementAnswer: WireCodable, Hashable {
    /// PostgreSQL's code of the error; empty: there is none.
    public var errorCode: String
    public var rows: [UInt8]

    public init(errorCode: String = "", rows: [UInt8] = []) {
        self.errorCode = errorCode
        self.rows = rows
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        errorCode = try reader.table()
        rows = Array(reader.readRest())
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(name: errorCode)
        buffer.append(rows)
    }
}

extension ByteReader {
    /// The name of a table or a statement.
    fileprivate mutating func table() throws(WireError) -> String { String(decoding: try name(), as: UTF8.self) }
}
