import Models
import Postgres

/// A message as queries read it: a row `m` of `store.messages`, and its parent's row `parent` where the reader sees it.
enum MessageRow {
    /// The columns without a parent's: for changes, which refer to it barely.
    static let bareColumns = """
        m.seq, m.id, m.changed_seq, m.sender_id, m.kind, m.body, array_to_string(m.mentions, ','), m.sent_at,
            m.created_at, m.edited_at, m.deleted_at, m.reply_to, m.reply_seq
        """

    static let columns = bareColumns + ", parent.sender_id, parent.body"
    static let columnCount = 15
}

extension MessageFields {
    /// Reads `MessageRow.bareColumns` from column `first` on; nil where an outer join found no message. Texts live as
    /// long as the rows.
    init?(_ row: Row, first: Int = 0, conversation: ConversationID) {
        guard !row.isNull(first) else { return nil }
        self.conversation = conversation
        seq = row[first]
        id = row[first + 1]
        changeSeq = row[first + 2]
        sender = row[first + 3]
        guard let kind = Kind(rawValue: row[first + 4]) else { preconditionFailure("the table checks the kind") }
        self.kind = kind
        text = row[first + 5]
        mentions = row[first + 6] ?? UnsafeRawBufferPointer(start: nil, count: 0)
        sentAt = row[first + 7]
        createdAt = row[first + 8]
        editedAt = row[first + 9]
        deletedAt = row[first + 10]
        parent = (row[first + 11] as MessageID?).map { Parent(id: $0, seq: row[first + 12]) }
    }
}

extension ParentView {
    /// Reads the parent's part of `MessageRow.columns`, which begin at `first`.
    init(_ row: Row, first: Int = 0) {
        let text: UnsafeRawBufferPointer? = row[first + 14]
        self = text.map { .visible(sender: row[first + 13], text: $0) } ?? .unavailable
    }
}
