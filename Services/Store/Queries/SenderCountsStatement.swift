import Models
import Postgres
import Wire

/// The latest messages of a conversation with their senders, and the senders' own horizons.
enum SenderCountsStatement {
    /// Earlier messages are not counted. This bounds the work, and their counts hardly change any more.
    static let latestMessages: Int64 = 1_000
    /// The number of rows examined for them, including those of deleted and system messages.
    private static let latestRows: Int64 = 4_096

    /// Selects them with the position of the conversation's status, which is read before anything that is counted.
    /// Returns no row if nothing ever moved, and a row without a message if there is none.
    static let recent = Statement(
        "recent_senders", parameters: [.int2, .uuid, .int8],
        """
        SELECT p.status_version, p.last_at, m.seq, m.sender_id
        FROM receipt.published_positions p
        LEFT JOIN LATERAL (
            SELECT m.seq, m.sender_id FROM (
                SELECT * FROM store.messages m WHERE m.slot = $1 AND m.conversation_id = $2
                ORDER BY m.seq DESC LIMIT \(latestRows)
            ) m
            WHERE m.kind <> 3 AND m.deleted_at IS NULL
            ORDER BY m.seq DESC LIMIT $3
        ) m ON true
        WHERE p.slot = $1 AND p.conversation_id = $2
        ORDER BY m.seq
        """)

    static let stays = Statement(
        "sender_stays", parameters: [.int2, .uuid, .array(.text)],
        """
        SELECT s.user_id, s.joined_seq, coalesce(s.left_seq, 9223372036854775807), h.delivered_seq, h.shown_seq
        FROM store.memberships s
        JOIN receipt.published_horizons h ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
        WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = ANY ($3)
        """)

    static func addRecent(_ conversation: ConversationID, to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(latestMessages)
    }

    static func addStays(
        of senders: some Sequence<UserID>, in conversation: ConversationID, to parameters: inout Parameters
    ) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.addArray(of: .text)
        for sender in senders { parameters.append(sender) }
    }
}

/// How far the recipients of each sender's latest messages are: everybody's receipts, less the sender's own.
struct SenderReceipts {
    /// Ascending.
    let seqs: [Int64]
    private(set) var bySender: [UserID: [Int]]
    private(set) var receipts: [Receipts] = []

    init(_ messages: [(seq: Int64, sender: UserID)]) {
        seqs = messages.map(\.seq)
        bySender = Dictionary(grouping: messages.indices, by: { messages[$0].sender })
        for (sender, indices) in bySender { bySender[sender] = indices.suffix(ContractLimits.countedMessages) }
    }

    /// Takes the receipts of all members, senders included.
    mutating func count(_ everybody: [Receipts]) { receipts = everybody }

    /// Subtracts a sender's receipts of their own messages.
    mutating func discount(_ sender: UserID, stay: ClosedRange<Int64>, delivered: Int64, read: Int64) {
        for index in bySender[sender] ?? [] where stay.contains(seqs[index]) {
            if delivered >= seqs[index] { receipts[index].delivered -= 1 }
            if read >= seqs[index] { receipts[index].read -= 1 }
        }
    }
}
