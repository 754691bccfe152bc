import Foundation
import Models
import ParleyStorage

/// What a screen reads of a conversation with 1,000,000 messages, and of a list of 10,000 conversations.
enum Windows {
    static let messages = 1_000_000
    static let conversations = 10_000
    static let rounds = 301

    static func measure() async throws {
        let folder = try Folder()
        let path = folder.file("large.db")
        try fill(path)
        // Opened anew: nothing is prepared.
        let store = try LocalStore.open(path: path).store
        try await newest(store)
        try await anywhere(store)
        try await list(store)
    }

    private static func newest(_ store: LocalStore) async throws {
        let window = try await median(rounds) { _ in _ = try store.timeline(of: talk, .newest, limit: 50) }
        let floor = try await median(rounds) { _ in try store.readBare(before: Int64(messages)) }
        report("newest 50 of \(messages) messages", window, floor)
    }

    private static func anywhere(_ store: LocalStore) async throws {
        var random = SystemRandomNumberGenerator()
        let places = (0..<rounds).map { _ in Int64.random(in: 100...Int64(messages) - 100, using: &random) }
        let floor = try await median(rounds) { number in try store.readBare(before: places[number] + 25) }
        let window = try await median(rounds) { number in
            _ = try store.timeline(of: talk, around: places[number], before: 25, after: 25)
        }
        report("50 anywhere in them", window, floor)
    }

    private static func list(_ store: LocalStore) async throws {
        let rows = try await median(rounds) { _ in
            try store.read { () throws(StorageError) in _ = try store.list(limit: 50) }
        }
        let floor = try await median(rounds) { _ in try store.readBareList() }
        report("the first 50 of \(conversations) conversations", rows, floor)
        var known = Dictionary(uniqueKeysWithValues: try store.list(limit: 50).rows.map { ($0.id, $0) })
        known[known.first!.key] = nil
        let one = try await median(rounds) { _ in
            _ = try store.read { () throws(StorageError) in try store.list(limit: 50, known: known) }
        }
        KitLoad.print("  the same after one of them has changed", "\(Int(one.microseconds)) µs")
    }

    private static func report(_ name: String, _ time: Duration, _ floor: Duration) {
        KitLoad.print(name, "\(Int(time.microseconds)) µs")
        KitLoad.print("  floor: the bare query", "\(Int(floor.microseconds)) µs")
        KitLoad.print("  times the floor", String(format: "%.1f", time / floor))
    }

    private static func fill(_ path: String) throws {
        let store = try LocalStore(path: path)
        try store.apply([.session(userId: user, logId: .zero, useq: 0)])
        try store.connection.execute("PRAGMA synchronous = OFF")
        try store.write { () throws(StorageError) in
            for number in 1...conversations { try store.insertConversation(number) }
        }
        for start in stride(from: 1, through: messages, by: 50_000) {
            try store.write { () throws(StorageError) in
                for seq in start..<start + 50_000 { try store.insertBare(seq) }
            }
        }
        try store.connection.run("INSERT INTO ranges (conversation, first_seq, last_seq) VALUES (1, 1, ?1)", messages)
    }
}

extension LocalStore {
    /// The first one has the messages that `insertBare` inserts; the others one each.
    fileprivate func insertConversation(_ number: Int) throws(StorageError) {
        let lastSeq = number == 1 ? Windows.messages : 2
        try connection.run(
            """
            INSERT INTO conversations (key, id, needs_head, head_seq, kind, title, last_seq, last_activity_at, member_count,
                role, windows, cursor, read_seq)
            VALUES (?1, ?2, 0, ?3, 'group', 'Sunday', ?3, ?1, 2, 'member', '1-', ?3, ?4)
            """, Int64(number), ConversationID(UUIDBytes(high: 1, low: UInt64(number))), lastSeq,
            // One in five has something unread.
            number.isMultiple(of: 5) ? lastSeq - 1 : lastSeq)
        guard number > 1 else { return }
        try connection.run(
            """
            INSERT INTO messages (conversation, seq, change_seq, id, sender_id, kind, text, sent_at, created_at)
            VALUES (?1, 2, 2, ?2, 'ben', 'text', ?3, 1782896400000, 1782896400000)
            """, Int64(number), messageId(Windows.messages + number), text)
        try connection.run("INSERT INTO ranges (conversation, first_seq, last_seq) VALUES (?1, 2, 2)", Int64(number))
    }

    /// 50 messages, and all of each row read.
    fileprivate func readBare(before seq: Int64) throws(StorageError) {
        let rows = try connection.all(
            "SELECT * FROM messages WHERE conversation = 1 AND seq <= ?1 ORDER BY seq DESC LIMIT 50", seq,
            read: Self.touch)
        precondition(rows.count == 50, "a whole window was read")
    }

    fileprivate func readBareList() throws(StorageError) {
        let rows = try connection.all(
            """
            SELECT * FROM conversations c JOIN messages m ON m.conversation = c.key AND m.seq = c.last_seq
            WHERE c.head_seq > 0 ORDER BY c.last_activity_at DESC, c.key DESC LIMIT 50
            """, read: Self.touch)
        precondition(rows.count == 50, "a whole window was read")
    }

    private static func touch(_ row: Row) -> (UUIDBytes, String, String, String, Int64, Int64) {
        (row.uuid(4), row.text(5), row.text(6), row.text(7), row.integer(8), row.integer(9))
    }
}
