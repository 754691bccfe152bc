import Models
import Postgres

/// Locks the rows of the conversations that a batch writes to, in the order of their keys.
///
/// Always the first statement of a batch: the statements behind it then have snapshots in which nothing that this batch
/// depends on can change any more, and no two batches wait for each other.
enum LockStatement {
    static let statement = Statement(
        "lock_conversations", parameters: [.array(.int2), .array(.uuid)],
        """
        SELECT FROM store.conversations c
        WHERE (c.slot, c.id) IN (SELECT * FROM unnest($1::smallint[], $2::uuid[]))
        ORDER BY c.id, c.slot
        FOR NO KEY UPDATE
        """)

    static func add(to batch: inout Batch, _ conversations: Set<ConversationID>) {
        batch.execute(statement) { parameters in
            parameters.addArray(of: .int2)
            for conversation in conversations { parameters.append(conversation.slot) }
            parameters.addArray(of: .uuid)
            for conversation in conversations { parameters.append(conversation) }
        }
    }
}
