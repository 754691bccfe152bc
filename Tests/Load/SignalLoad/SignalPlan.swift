import Models
import Postgres

/// Who reads where, and how fast.
struct SignalPlan: Sendable {
    let run: String
    let conversations: Int
    let members: Int
    let inFlight: Int
    let duration: Duration
    /// Messages that a reading passes.
    let step: Int
    /// Signals a second; 0: as many as are absorbed.
    let rate: Int

    /// Far more messages than are read.
    private static let lastSeq = 1_000_000_000
    /// Runs against one database do not meet.
    private let prefix = UInt64.random(in: 0..<1 << 40)

    func conversation(_ number: Int) -> ConversationID {
        let high = 0x0190_0000_0000_7000 | (prefix >> 28) << 16 | prefix >> 16 & 0xFFF
        return ConversationID(
            UUIDBytes(high: high, low: 0x8000_0000_0000_0000 | (prefix & 0xFFFF) << 32 | UInt64(number)))
    }

    func user(_ number: Int) -> UserID { UserID("reader\(number)-\(prefix)")! }

    /// Groups of the same members, with a billion messages each, as far as receipt can tell.
    func seed(_ database: BlockingConnection) throws {
        _ = try database.query(
            """
            INSERT INTO store.conversations
                (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
            SELECT slot, id, 1, 'nobody', now(), \(Self.lastSeq), now(), \(members) FROM unnest($1, $2) AS c (slot, id)
            """, addConversations)
        for table in ["memberships", "inbox"] { try seed(table, database) }
        for table in ["conversations", "memberships", "inbox"] { try database.execute("ANALYZE store.\(table)") }
    }

    private func seed(_ table: String, _ database: BlockingConnection) throws {
        let insert =
            table == "inbox"
            ? "inbox (user_slot, user_id, conversation_id, slot) SELECT u.slot, u.id, c.id, c.slot"
            : "memberships (slot, conversation_id, user_id, joined_seq, role) SELECT c.slot, c.id, u.id, 1, 1"
        _ = try database.query(
            "INSERT INTO store.\(insert) FROM unnest($1, $2) AS c (slot, id), unnest($3, $4) AS u (slot, id)"
        ) { parameters in
            addConversations(to: &parameters)
            parameters.addArray(of: .int2)
            for number in 0..<members { parameters.append(user(number).slot) }
            parameters.addArray(of: .text)
            for number in 0..<members { parameters.append(user(number)) }
        }
    }

    private func addConversations(to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for number in 0..<conversations { parameters.append(conversation(number).slot) }
        parameters.addArray(of: .uuid)
        for number in 0..<conversations { parameters.append(conversation(number)) }
    }
}
