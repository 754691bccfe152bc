import Models
import Postgres
import Wire

/// A message as queries read it: a row `m` of `store.messages`, and its parent's row `parent` where the reader sees it.
///
/// All of it is as of a position, an SQL expression: the last one that the reader may see. For a present member that is
/// the end. A former member sees the text and the tapbacks of when they left; only a deletion for everyone shows, because
/// what it took away is nowhere any more.
enum MessageRow {
    /// The columns without a parent's: for changes, which refer to it barely and have no reader.
    static func bareColumns(asOf position: String) -> String { columns(ofReader: "NULL", asOf: position) }

    /// The columns for a reader, named by an SQL expression; of the parent's text what a preview needs.
    static func columns(for reader: String, asOf position: String) -> String {
        columns(ofReader: reader, asOf: position) + ", parent.sender_id, left(parent.body, \(Preview.codePoints))"
    }

    /// What stands in the row itself, and whether that is not all. As of a position before `changed_seq` it is not, either:
    /// then the columns above tell the rest.
    static let plainColumns = """
        \(columns(changedSeq: "m.changed_seq", text: "m.body", editedAt: "m.edited_at")),
            m.kind <> 1 OR m.tapback_count > 0
        """
    static let changedSeq = 2

    private static let ownColumnCount = 13
    static let plainColumnCount = ownColumnCount + 1
    static let bareColumnCount = ownColumnCount + 3
    static let columnCount = bareColumnCount + 2

    private static func columns(changedSeq: String, text: String, editedAt: String) -> String {
        """
        m.seq, m.id, \(changedSeq), m.sender_id, m.kind, \(text),
            array_to_string(m.mentions, ','), m.sent_at, m.created_at, \(editedAt), m.deleted_at, m.reply_to, m.reply_seq
        """
    }

    private static func columns(ofReader reader: String, asOf position: String) -> String {
        """
        \(columns(changedSeq: "least(m.changed_seq, \(position))", text: text(of: "m", asOf: position), editedAt: editedAt(asOf: position))),
            CASE WHEN m.tapback_count > 0 THEN (\(tapbacks(ownedBy: reader, asOf: position))) END,
            CASE WHEN m.tapback_count > 0 THEN (\(tapbackCounts(asOf: position))) END,
            CASE WHEN m.kind = 3 THEN (\(event)) END
        """
    }

    /// The row `parent` of a reply `m`, where the reader sees it.
    static func parent(for reader: String, asOf position: String) -> String {
        """
        SELECT p.sender_id, \(text(of: "p", asOf: position)) AS body FROM store.messages p
        WHERE p.slot = m.slot AND p.conversation_id = m.conversation_id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
          AND EXISTS (SELECT FROM store.memberships s
                      WHERE s.slot = m.slot AND s.conversation_id = m.conversation_id AND s.user_id = \(reader)
                        AND p.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, p.seq))
          AND \(HiddenMessages.isNone(at: "p.seq", slot: "m.slot", conversation: "m.conversation_id", reader: reader))
        """
    }

    /// The text of a row of `store.messages`. A revision is the text that the change at its position replaced.
    static func text(of row: String, asOf position: String) -> String {
        """
        CASE WHEN \(row).edited_at IS NULL OR \(row).changed_seq <= \(position) THEN \(row).body
            ELSE coalesce((SELECT v.body \(nextRevision(of: row, asOf: position))), \(row).body) END
        """
    }

    /// Of a message that was deleted behind the position nobody knows any more which edit came before it.
    static func editedAt(asOf position: String) -> String {
        """
        CASE WHEN m.edited_at IS NULL OR m.changed_seq <= \(position) THEN m.edited_at
            WHEN m.deleted_at IS NOT NULL THEN NULL
            WHEN NOT EXISTS (SELECT \(nextRevision(of: "m", asOf: position))) THEN m.edited_at
            WHEN EXISTS (SELECT \(revisions(of: "m")) AND v.replaced_seq <= \(position))
                THEN (SELECT v.at \(nextRevision(of: "m", asOf: position))) END
        """
    }

    private static func nextRevision(of row: String, asOf position: String) -> String {
        "\(revisions(of: row)) AND v.replaced_seq > \(position) ORDER BY v.replaced_seq LIMIT 1"
    }

    private static func revisions(of row: String) -> String {
        """
        FROM store.revisions v
            WHERE v.slot = \(row).slot AND v.conversation_id = \(row).conversation_id AND v.message_id = \(row).id
        """
    }

    private static func tapbacksOfMessage(asOf position: String) -> String {
        """
        FROM store.tapbacks r
            WHERE r.slot = m.slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= \(position)
        """
    }

    /// JSON array: the first 20, and the reader's own.
    private static func tapbacks(ownedBy reader: String, asOf position: String) -> String {
        """
        SELECT json_agg(json_build_object('userId', t.user_id, 'kind', t.kind) ORDER BY t.place)::text FROM (
            SELECT r.user_id, r.kind, row_number() OVER (ORDER BY r.at, r.user_id) AS place
            \(tapbacksOfMessage(asOf: position))
        ) t WHERE t.place <= 20 OR t.user_id = \(reader)
        """
    }

    /// JSON object: how many of each kind.
    private static func tapbackCounts(asOf position: String) -> String {
        """
        SELECT json_object_agg(t.kind, t.count)::text FROM (
            SELECT r.kind, count(*) AS count \(tapbacksOfMessage(asOf: position)) GROUP BY r.kind
        ) t
        """
    }

    /// How many of each kind as digests have it: `kind:count` in the order of the kinds' bytes, with commas between them.
    static func tapbackCountsText(asOf position: String) -> String {
        """
        SELECT string_agg(t.kind || ':' || t.count, ',' ORDER BY t.kind COLLATE "C") FROM (
            SELECT r.kind, count(*) AS count \(tapbacksOfMessage(asOf: position)) GROUP BY r.kind
        ) t
        """
    }

    /// JSON object: what a system message shows.
    private static let event = """
        SELECT json_strip_nulls(json_build_object('kind', CASE h.kind \(eventNames) END, 'userId', h.user_id, 'title', h.title))::text
        FROM store.changes h
        WHERE h.slot = m.slot AND h.conversation_id = m.conversation_id AND h.seq = m.seq
        """

    private static let eventNames = [
        ChangeKind.memberAdded, .memberRemoved, .memberChanged, .conversationRenamed,
    ].map { "WHEN \($0.rawValue) THEN '\($0.name)'" }.joined(separator: " ")
}

extension MessageFields {
    /// Reads `MessageRow.bareColumns` from column `first` on; nil where an outer join found no message. Texts live as
    /// long as the rows.
    init?(_ row: Row, first: Int = 0, conversation: ConversationID) {
        self.init(plain: row, first: first, conversation: conversation)
        tapbacks = row[first + 13]
        tapbackCounts = row[first + 14]
        event = row[first + 15]
    }

    /// Reads `MessageRow.plainColumns`.
    init?(plain row: Row, first: Int = 0, conversation: ConversationID) {
        guard !row.isNull(first) else { return nil }
        self.conversation = conversation
        seq = row[first]
        id = row[first + 1]
        changeSeq = row[first + 2]
        sender = row[first + 3]
        guard let kind = MessageKind(rawValue: row[first + 4]) else { preconditionFailure("the table checks the kind") }
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

extension MessageFields {
    /// Whether its sender, if that is the reader, is told how far its recipients are.
    func hasReceipts(for reader: UserID) -> Bool { sender == reader && kind != .system }

    /// As above, of the message in a row.
    static func hasReceipts(_ row: Row, for reader: UserID) -> Bool {
        let sender: UnsafeRawBufferPointer = row[3]
        return sender.elementsEqual(reader.name.utf8) && row[4] as Int16 != MessageKind.system.rawValue
    }
}

extension ParentView {
    /// Reads the parent's part of `MessageRow.columns`, which begin at `first`.
    init(_ row: Row, first: Int = 0) {
        let column = first + MessageRow.bareColumnCount
        let text: UnsafeRawBufferPointer? = row[column + 1]
        self = text.map { .visible(sender: row[column], text: $0) } ?? .unavailable
    }
}
