import Models
import ParleyDigest
import ParleyStorage

/// What a follower has done, in a file of its own. A row of the source is noted when everything that follows from it has
/// its result, so a process that is killed repeats at most what was on its way, by the same ids and keys.
///
/// Rows are known by their GUID, because another file may have the same ones under other numbers.
final class FollowState {
    /// What was done with a row of the source.
    struct Row: Equatable {
        /// What the row looked like.
        var signature: Int64
        /// The latest edit, in milliseconds since 1970.
        var edited: Int64 = 0
        /// A digest of the text that was sent.
        var text: Int64 = FollowState.unknownText
    }

    /// A conversation that the system has.
    struct Conversation {
        var title: String?
        /// As the source listed them, without oneself.
        var members: [UserID] = []
        /// The latest date of what was imported, in the source's nanoseconds.
        var importedThrough: Int64 = 0
        var horizons: [FollowHorizon.Kind: FollowHorizon] = [:]
    }

    /// Of a row that was imported.
    static let unknownText: Int64 = 0
    /// Of a row that was in no conversation, so that nothing was done with it.
    static let homelessText: Int64 = -1
    /// Of a message that was deleted for everyone.
    static let deletedText: Int64 = 1

    private let connection: Connection

    private static let version: Int64 = 1
    private static let schema = """
        CREATE TABLE IF NOT EXISTS follow (
            one INTEGER PRIMARY KEY CHECK (one = 1), began INTEGER NOT NULL, is_imported INTEGER NOT NULL DEFAULT 0,
            last_row INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE TABLE IF NOT EXISTS rows (
            id BLOB PRIMARY KEY, signature INTEGER NOT NULL, edited INTEGER NOT NULL, text INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS later_rows (row INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE IF NOT EXISTS chats (guid TEXT PRIMARY KEY, conversation_id BLOB NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS conversations (
            id BLOB PRIMARY KEY, title TEXT, members TEXT NOT NULL, imported_through INTEGER NOT NULL,
            is_due INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS due_conversations ON conversations (id) WHERE is_due;
        CREATE TABLE IF NOT EXISTS horizons (
            conversation_id BLOB NOT NULL, kind INTEGER NOT NULL, date INTEGER NOT NULL, message_id BLOB NOT NULL,
            told_seq INTEGER NOT NULL DEFAULT 0, is_told INTEGER NOT NULL, PRIMARY KEY (conversation_id, kind)) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS sent (
            conversation_id BLOB NOT NULL, date INTEGER NOT NULL, message_id BLOB NOT NULL, seq INTEGER NOT NULL,
            PRIMARY KEY (conversation_id, date, message_id)) STRICT, WITHOUT ROWID;
        PRAGMA user_version = 1;
        """

    init(path: String) throws {
        connection = try Connection(path: path)
        // What a power cut takes away is repeated, and recognised.
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        let found = try connection.first("PRAGMA user_version") { $0.integer(0) } ?? 0
        guard found <= Self.version else { throw ArchiveError("\(path) was written by a newer version of parley") }
        if found < Self.version {
            try connection.write { () throws(StorageError) in try connection.execute(Self.schema) }
        }
    }

    func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try connection.write(body)
    }

    /// As `write`, of a body that may fail in any way.
    func writeAll<Value>(_ body: () throws -> Value) throws -> Value {
        try connection.run("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try connection.run("COMMIT")
            return value
        } catch {
            try? connection.run("ROLLBACK")
            throw error
        }
    }

    // MARK: The import

    /// When the import began. Every run of it takes the same time for the present, so its records are the same.
    func began(_ now: Timestamp) throws(StorageError) -> Timestamp {
        try connection.run("INSERT INTO follow (one, began) VALUES (1, ?) ON CONFLICT DO NOTHING", now)
        return try connection.first("SELECT began FROM follow") { $0.time(0) } ?? now
    }

    func isImported() throws(StorageError) -> Bool {
        try connection.first("SELECT is_imported FROM follow") { $0.flag(0) } ?? false
    }

    func noteImported(lastRow: Int64) throws(StorageError) {
        try connection.run("UPDATE follow SET is_imported = 1, last_row = ?", lastRow)
        try connection.run("DELETE FROM later_rows")
    }

    func lastRow() throws(StorageError) -> Int64 {
        try connection.first("SELECT last_row FROM follow") { $0.integer(0) } ?? 0
    }

    func note(lastRow: Int64) throws(StorageError) { try connection.run("UPDATE follow SET last_row = ?", lastRow) }

    func noteLater(row: Int64) throws(StorageError) {
        try connection.run("INSERT INTO later_rows (row) VALUES (?) ON CONFLICT DO NOTHING", row)
    }

    func isLater(row: Int64) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM later_rows WHERE row = ?", row) { _ in true } ?? false
    }

    // MARK: Rows

    func row(_ id: UUIDBytes) throws(StorageError) -> Row? {
        try connection.first("SELECT signature, edited, text FROM rows WHERE id = ?", id) {
            Row(signature: $0.integer(0), edited: $0.integer(1), text: $0.integer(2))
        }
    }

    func note(_ row: Row, of id: UUIDBytes) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO rows (id, signature, edited, text) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET signature = excluded.signature, edited = excluded.edited, text = excluded.text
            """, id, row.signature, row.edited, row.text)
    }

    // MARK: Conversations

    func conversation(ofChat guid: String) throws(StorageError) -> ConversationID? {
        try connection.first("SELECT conversation_id FROM chats WHERE guid = ?", guid) { ConversationID($0.uuid(0)) }
    }

    func note(_ conversation: ConversationID, ofChat guid: String) throws(StorageError) {
        try connection.run(
            "INSERT INTO chats (guid, conversation_id) VALUES (?, ?) ON CONFLICT DO NOTHING", guid, conversation)
    }

    func conversation(_ id: ConversationID) throws(StorageError) -> Conversation? {
        let found = try connection.first(
            "SELECT title, members, imported_through FROM conversations WHERE id = ?", id
        ) {
            Conversation(
                title: $0.optional(0, $0.text), members: Self.users($0.text(1)), importedThrough: $0.integer(2))
        }
        guard var found else { return nil }
        let horizons = try connection.all(
            "SELECT kind, date, message_id, told_seq, is_told FROM horizons WHERE conversation_id = ?", id
        ) { row in
            FollowHorizon.Kind(rawValue: row.integer(0)).map { kind in
                let horizon = FollowHorizon(
                    date: row.integer(1), message: MessageID(row.uuid(2)), toldSeq: row.integer(3), isTold: row.flag(4))
                return (kind, horizon)
            }
        }
        found.horizons = Dictionary(horizons.compactMap(\.self)) { first, _ in first }
        return found
    }

    func note(_ conversation: Conversation, of id: ConversationID) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO conversations (id, title, members, imported_through) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET title = excluded.title, members = excluded.members
            """, id, conversation.title, Self.list(conversation.members), conversation.importedThrough)
        for (kind, horizon) in conversation.horizons { try move(kind, to: horizon, in: id) }
    }

    func note(title: String, of id: ConversationID) throws(StorageError) {
        try connection.run("UPDATE conversations SET title = ? WHERE id = ?", title, id)
    }

    func note(members: [UserID], of id: ConversationID) throws(StorageError) {
        try connection.run("UPDATE conversations SET members = ? WHERE id = ?", Self.list(members), id)
    }

    func note(_ change: ChatMembership.Change, in id: ConversationID) throws(StorageError) {
        guard let known = try conversation(id) else { return }
        let others = known.members.filter { $0 != change.user }
        try note(members: change.isAdded ? (others + [change.user]).sorted() : others, of: id)
    }

    /// Names have neither spaces nor commas.
    private static func list(_ users: [UserID]) -> String { users.map(\.name).joined(separator: " ") }

    private static func users(_ list: String) -> [UserID] {
        list.split(separator: " ").compactMap { UserID(String($0)) }
    }

    // MARK: Receipts

    /// Horizons only move forward.
    func move(
        _ kind: FollowHorizon.Kind, to horizon: FollowHorizon, in id: ConversationID
    ) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO horizons (conversation_id, kind, date, message_id, is_told) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET date = excluded.date, message_id = excluded.message_id, is_told = excluded.is_told
            WHERE excluded.date > horizons.date
            """, id, kind.rawValue, horizon.date, horizon.message, horizon.isTold)
    }

    /// - Parameter seq: the position that the system was told; nil if there was none to tell.
    func note(told kind: FollowHorizon.Kind, through seq: Int64?, in id: ConversationID) throws(StorageError) {
        try connection.run(
            """
            UPDATE horizons SET is_told = 1, told_seq = coalesce(?, told_seq) WHERE conversation_id = ? AND kind = ?
            """, seq, id, kind.rawValue)
    }

    /// A message that went in live, at this position.
    func note(sent message: MessageID, date: Int64, at seq: Int64, in id: ConversationID) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO sent (conversation_id, date, message_id, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
            """, id, date, message, seq)
    }

    /// The position of the first live message that is dated later, and of the last one of all.
    func sent(in id: ConversationID, after date: Int64) throws(StorageError) -> (next: Int64?, last: Int64?) {
        let next = try connection.first(
            "SELECT min(seq) FROM sent WHERE conversation_id = ? AND date > ?", id, date,
            read: { $0.optional(0, $0.integer) })
        let last = try connection.first(
            "SELECT max(seq) FROM sent WHERE conversation_id = ?", id, read: { $0.optional(0, $0.integer) })
        return (next ?? nil, last ?? nil)
    }

    func wasSent(_ message: MessageID, date: Int64, in id: ConversationID) throws(StorageError) -> Bool {
        try connection.first(
            "SELECT 1 FROM sent WHERE conversation_id = ? AND date = ? AND message_id = ?", id, date, message
        ) { _ in true } ?? false
    }

    func note(isDue: Bool, _ id: ConversationID) throws(StorageError) {
        try connection.run("UPDATE conversations SET is_due = ? WHERE id = ?", isDue, id)
    }

    /// Conversations in which receipts may have to be sent.
    func due(limit: Int) throws(StorageError) -> [ConversationID] {
        try connection.all("SELECT id FROM conversations WHERE is_due LIMIT ?", limit) { ConversationID($0.uuid(0)) }
    }
}

/// The latest message of a conversation that has a receipt of a kind.
struct FollowHorizon: Sendable {
    enum Kind: Int64, CaseIterable, Sendable {
        /// Of what one sent oneself: the others'.
        case delivered = 1
        case read
        /// Of what others sent: one's own.
        case ownRead
    }

    var date: Int64
    var message: MessageID
    /// The position that the system was told.
    var toldSeq: Int64 = 0
    /// Whether it was told of this message.
    var isTold = false
}
