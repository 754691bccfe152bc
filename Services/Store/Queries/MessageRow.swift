import Models
import Postgres
import Wire

/// The columns common to all forms of a message: {plain_message} and {whole_message}.
struct MessageColumns: NamedFields {
    let seq: Column<Int64>
    let id: Column<MessageID>
    let changedSeq: Column<Int64>
    let senderId: Column<UserID>
    let kind: Column<MessageKind>
    let body: Column<UnsafeRawBufferPointer?>
    let mentions: Column<UnsafeRawBufferPointer?>
    let sentAt: Column<Timestamp>
    let createdAt: Column<Timestamp>
    let editedAt: Column<Timestamp?>
    let deletedAt: Column<Timestamp?>
    let replyTo: Column<MessageID?>
    let replySeq: Column<Int64>
}

/// The columns of {plain_message}.
struct PlainMessageColumns: NamedFields {
    let own: MessageColumns
    let hasMore: Column<Bool>
}

/// The columns of {whole_message}.
struct WholeMessageColumns: NamedFields {
    let own: MessageColumns
    let tapbacks: Column<UnsafeRawBufferPointer?>
    let tapbackCounts: Column<UnsafeRawBufferPointer?>
    let event: Column<UnsafeRawBufferPointer?>
}

/// The columns of {message_with_parent}.
struct MessageWithParentColumns: NamedFields {
    let message: WholeMessageColumns
    let parentSenderId: Column<UserID>
    let parentText: Column<UnsafeRawBufferPointer?>
}

/// The same for statements that are not in a file yet: a row `m` of `store.messages`, and its parent's row `parent` if
/// the reader sees it.
enum MessageRow {
    /// The columns without the parent's, for changes, which carry a bare reference and have no reader.
    static func bareColumns(asOf position: String) -> String {
        SQLNames.store.sql("whole_message", ["reader": "NULL", "position": position])
    }

    /// The columns for a reader, named by an SQL expression, with as much of the parent's text as a preview needs.
    static func columns(for reader: String, asOf position: String) -> String {
        SQLNames.store.sql("message_with_parent", ["reader": reader, "position": position])
    }

    static let bareColumnCount = 16
    static let columnCount = bareColumnCount + 2

    /// The row `parent` of a reply `m`, if the reader sees it.
    static func parent(for reader: String, asOf position: String) -> String {
        SQLNames.store.sql("parent_of_reply", ["reader": reader, "position": position])
    }

    /// The text of a row of `store.messages`.
    static func text(of row: String, asOf position: String) -> String {
        SQLNames.store.sql("text_as_of", ["row": row, "position": position])
    }

    static func editedAt(asOf position: String) -> String {
        SQLNames.store.sql("edited_at_as_of", ["position": position])
    }

    /// The tapback counts in the form of digests: `kind:count` in the order of the kinds' bytes, separated by commas.
    static func tapbackCountsText(asOf position: String) -> String {
        """
        SELECT string_agg(t.kind || ':' || t.count, ',' ORDER BY t.kind COLLATE "C") FROM (
            SELECT r.kind, count(*) AS count FROM store.tapbacks r
            WHERE r.slot = m.slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= \(position)
            GROUP BY r.kind
        ) t
        """
    }
}

extension MessageFields {
    /// Nil if an outer join found no message. Texts live as long as the rows.
    init?(_ row: Row, _ columns: MessageColumns, in conversation: ConversationID) {
        guard !row.isNull(columns.seq) else { return nil }
        self.conversation = conversation
        seq = row[columns.seq]
        id = row[columns.id]
        changeSeq = row[columns.changedSeq]
        sender = row[columns.senderId]
        kind = row[columns.kind]
        text = row[columns.body]
        mentions = row[columns.mentions] ?? UnsafeRawBufferPointer(start: nil, count: 0)
        sentAt = row[columns.sentAt]
        createdAt = row[columns.createdAt]
        editedAt = row[columns.editedAt]
        deletedAt = row[columns.deletedAt]
        parent = row[columns.replyTo].map { Parent(id: $0, seq: row[columns.replySeq]) }
    }

    init?(_ row: Row, _ columns: WholeMessageColumns, in conversation: ConversationID) {
        self.init(row, columns.own, in: conversation)
        tapbacks = row[columns.tapbacks]
        tapbackCounts = row[columns.tapbackCounts]
        event = row[columns.event]
    }

    /// Reads `MessageRow.bareColumns` from column `first` on.
    init?(_ row: Row, first: Int = 0, conversation: ConversationID) {
        guard !row.isNull(first) else { return nil }
        self.conversation = conversation
        seq = row[first]
        id = row[first + 1]
        changeSeq = row[first + 2]
        sender = row[first + 3]
        kind = row[first + 4]
        text = row[first + 5]
        mentions = row[first + 6] ?? UnsafeRawBufferPointer(start: nil, count: 0)
        sentAt = row[first + 7]
        createdAt = row[first + 8]
        editedAt = row[first + 9]
        deletedAt = row[first + 10]
        parent = (row[first + 11] as MessageID?).map { Parent(id: $0, seq: row[first + 12]) }
        tapbacks = row[first + 13]
        tapbackCounts = row[first + 14]
        event = row[first + 15]
    }
}

extension MessageFields {
    /// Whether its sender, if that is the reader, sees how far its recipients are.
    func hasReceipts(for reader: UserID) -> Bool { sender == reader && kind != .system }

    /// The same for the message in a row.
    static func hasReceipts(_ row: Row, _ columns: MessageColumns, for reader: UserID) -> Bool {
        row.bytes(columns.senderId).elementsEqual(reader.name.utf8) && row[columns.kind] != .system
    }
}

extension ParentView {
    init(_ row: Row, _ columns: MessageWithParentColumns) {
        self = row[columns.parentText].map { .visible(sender: row[columns.parentSenderId], text: $0) } ?? .unavailable
    }

    /// Reads the parent's part of `MessageRow.columns`, which begin at `first`.
    init(_ row: Row, first: Int = 0) {
        let column = first + MessageRow.bareColumnCount
        let text: UnsafeRawBufferPointer? = row[column + 1]
        self = text.map { .visible(sender: row[column], text: $0) } ?? .unavailable
    }
}
