import Models

/// How far one of the user's own messages has got.
public struct MessageReceipts: Hashable, Sendable {
    public var status: DeliveryStatus
    public var deliveredCount: Int
    public var readCount: Int
    /// Nil until the server has said it.
    public var recipientCount: Int?
    /// When the last recipient got it, or read it.
    public var dateDelivered: Timestamp?
    public var dateRead: Timestamp?

    public init(
        status: DeliveryStatus, deliveredCount: Int, readCount: Int, recipientCount: Int? = nil,
        dateDelivered: Timestamp? = nil, dateRead: Timestamp? = nil
    ) {
        self.status = status
        self.deliveredCount = deliveredCount
        self.readCount = readCount
        self.recipientCount = recipientCount
        self.dateDelivered = dateDelivered
        self.dateRead = dateRead
    }
}

extension LocalStore {
    /// Stores what a response says about the receipts of an own message. Counts and states only grow.
    func storeReceipts(of message: Message, in conversation: Int64) throws(StorageError) {
        guard let status = message.status else { return }
        try connection.run(
            """
            INSERT INTO receipts (
                conversation, seq, status, delivered_count, read_count, recipient_count, delivered_at, read_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (conversation, seq) DO UPDATE SET
                status = CASE WHEN receipts.status = 'read' OR receipts.status = 'delivered' AND excluded.status = 'sent'
                    THEN receipts.status ELSE excluded.status END,
                delivered_count = max(receipts.delivered_count, excluded.delivered_count),
                read_count = max(receipts.read_count, excluded.read_count),
                recipient_count = coalesce(excluded.recipient_count, receipts.recipient_count),
                delivered_at = coalesce(receipts.delivered_at, excluded.delivered_at),
                read_at = coalesce(receipts.read_at, excluded.read_at)
            """, conversation, message.seq, status, message.deliveredCount ?? 0, message.readCount ?? 0,
            message.recipientCount, message.dateDelivered, message.dateRead)
    }

    func apply(_ status: FrameFromServer.Status) throws(StorageError) {
        guard let state = try state(of: status.conversationId) else { return }
        for (user, seq) in status.delivered ?? [:] {
            try moveHorizon(of: user, in: state.key, delivered: seq, read: 0)
        }
        for (user, seq) in status.read ?? [:] { try moveHorizon(of: user, in: state.key, delivered: seq, read: seq) }
        for counts in status.counts ?? [] { try store(counts, in: state.key) }
        try connection.run(
            "UPDATE conversations SET status_version = max(status_version, ?2) WHERE key = ?1", state.key,
            status.statusVersion)
    }

    private func moveHorizon(
        of user: UserID, in conversation: Int64, delivered: Int64, read: Int64
    ) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO horizons (conversation, user_id, delivered_seq, read_seq) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (conversation, user_id) DO UPDATE SET
                delivered_seq = max(delivered_seq, excluded.delivered_seq), read_seq = max(read_seq, excluded.read_seq)
            """, conversation, user, delivered, read)
    }

    private func store(_ counts: FrameFromServer.Status.Counts, in conversation: Int64) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO receipts (conversation, seq, delivered_count, read_count) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (conversation, seq) DO UPDATE SET
                delivered_count = max(delivered_count, excluded.delivered_count),
                read_count = max(read_count, excluded.read_count)
            """, conversation, counts.seq, counts.deliveredCount, counts.readCount)
    }

    func store(_ members: [Membership], of id: ConversationID, isFirstPage: Bool) throws(StorageError) {
        guard let state = try state(of: id) else { return }
        if isFirstPage { try connection.run("DELETE FROM members WHERE conversation = ?1", state.key) }
        for member in members {
            try connection.run(
                "INSERT OR REPLACE INTO members (conversation, user_id, role, joined_seq) VALUES (?1, ?2, ?3, ?4)",
                state.key, member.userId, member.role, member.joinedSeq)
            try moveHorizon(
                of: member.userId, in: state.key, delivered: max(member.deliveredSeq, member.readSeq),
                read: member.readSeq)
        }
    }
}

// MARK: Reading

extension LocalStore {
    /// The members that are known, in the order of their names' bytes. A conversation's list is loaded when somebody looks
    /// at it.
    package func members(of id: ConversationID) throws(StorageError) -> [Membership] {
        try connection.all(
            """
            SELECT m.user_id, m.role, m.joined_seq, coalesce(h.delivered_seq, 0), coalesce(h.read_seq, 0)
            FROM conversations c JOIN members m ON m.conversation = c.key
                LEFT JOIN horizons h ON h.conversation = c.key AND h.user_id = m.user_id
            WHERE c.id = ?1 ORDER BY m.user_id
            """, id
        ) { row in
            var member = Membership(
                userId: row.user(0), role: .member, joinedSeq: row.integer(2), deliveredSeq: row.integer(3),
                readSeq: row.integer(4))
            member.role = Open(row.text(1))
            return member
        }
    }

    /// The receipts of the user's own messages among the latest ones of a conversation, newest first.
    package func latestReceipts(
        in id: ConversationID, among messages: Int = 200, limit: Int = 50
    ) throws(StorageError) -> [(id: MessageID, receipts: MessageReceipts)] {
        let own = try connection.all(
            """
            SELECT seq, id FROM (
                SELECT m.seq, m.id, m.sender_id, m.kind FROM conversations c JOIN messages m ON m.conversation = c.key
                WHERE c.id = ?1 ORDER BY m.seq DESC LIMIT ?2
            )
            WHERE kind IN ('text', 'reply', 'sealed', 'poll') AND sender_id = (SELECT coalesce(user_id, '') FROM account) LIMIT ?3
            """, id, messages, limit
        ) { (seq: $0.integer(0), id: MessageID($0.uuid(1))) }
        var result: [(id: MessageID, receipts: MessageReceipts)] = []
        for message in own { result.append((message.id, try receipts(of: message.seq, in: id))) }
        return result
    }

    /// The receipts of one of the user's own messages: what the server has counted, or what the horizons of the other
    /// members say if that is more. Who joined later is no recipient.
    package func receipts(of seq: Int64, in id: ConversationID) throws(StorageError) -> MessageReceipts {
        let receipts = try connection.first(
            """
            WITH told AS (
                SELECT count(*) FILTER (WHERE h.delivered_seq >= ?2) AS delivered,
                    count(*) FILTER (WHERE h.read_seq >= ?2) AS read
                FROM conversations c JOIN horizons h ON h.conversation = c.key
                    LEFT JOIN members m ON m.conversation = c.key AND m.user_id = h.user_id
                WHERE c.id = ?1 AND coalesce(m.joined_seq, 0) <= ?2
                    AND h.user_id <> (SELECT coalesce(user_id, '') FROM account)
            )
            SELECT r.status, max(coalesce(r.delivered_count, 0), told.delivered),
                max(coalesce(r.read_count, 0), told.read), coalesce(r.recipient_count, c.member_count - 1),
                r.delivered_at, r.read_at
            FROM conversations c, told LEFT JOIN receipts r ON r.conversation = c.key AND r.seq = ?2
            WHERE c.id = ?1
            """, id, seq
        ) { row in
            MessageReceipts(
                status: row.optional(0, row.text).flatMap { DeliveryStatus(named: $0) } ?? .sent,
                deliveredCount: Int(row.integer(1)), readCount: Int(row.integer(2)),
                recipientCount: row.optional(3) { Int(row.integer($0)) }, dateDelivered: row.optional(4, row.time),
                dateRead: row.optional(5, row.time))
        }
        guard var receipts else { return MessageReceipts(status: .sent, deliveredCount: 0, readCount: 0) }
        guard let recipients = receipts.recipientCount, recipients > 0 else { return receipts }
        if receipts.readCount >= recipients {
            receipts.status = .read
        } else if receipts.deliveredCount >= recipients, receipts.status != .read {
            receipts.status = .delivered
        }
        return receipts
    }
}
