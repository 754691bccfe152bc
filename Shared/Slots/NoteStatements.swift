import Models
import Postgres

/// The SQL of `WorkNotes`: a table `<schema>.<table> (slot, conversation_id, noted_by)`, whose key begins with the slot, and
/// `<schema>.slots (slot, epoch, noted_epoch)`.
public struct NoteStatements: Sendable {
    /// Notes conversations, those of them that there are, and returns the rows that are new.
    let note: Statement
    let forget: Statement
    /// $1 slot · behind $2 conversation, $3 number · $4 limit.
    let noted: Statement
    /// Of slots and the epochs they are owned under, those in which everything is done or noted.
    let complete: Statement
    /// Says so of others.
    let completed: Statement

    public var all: [Statement] { [note, forget, noted, complete, completed] }

    /// All names are the code's own: they are not quoted.
    ///
    /// - Parameter existence: the table that has a row for each conversation there is, and its column with the id.
    public init(_ schema: String, _ table: String, existence: (table: String, id: String)) {
        note = Statement(
            "note_\(table)", parameters: [.array(.int2), .array(.uuid), .array(.int8)],
            """
            INSERT INTO \(schema).\(table) (slot, conversation_id, noted_by)
            SELECT k.slot, k.id, k.number FROM unnest($1::smallint[], $2::uuid[], $3::bigint[]) AS k(slot, id, number)
            WHERE (SELECT true FROM \(existence.table) e WHERE e.slot = k.slot AND e.\(existence.id) = k.id) IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING conversation_id, noted_by
            """)
        forget = Statement(
            "forget_\(table)", parameters: [.array(.int2), .array(.uuid), .array(.int8)],
            """
            DELETE FROM \(schema).\(table) n
            USING unnest($1::smallint[], $2::uuid[], $3::bigint[]) AS k(slot, id, number)
            WHERE n.slot = k.slot AND n.conversation_id = k.id AND n.noted_by = k.number
            """)
        noted = Statement(
            "noted_\(table)", parameters: [.int2, .uuid, .int8, .int8],
            """
            SELECT n.conversation_id, n.noted_by FROM \(schema).\(table) n
            WHERE n.slot = $1 AND (n.conversation_id, n.noted_by) > ($2, $3)
            ORDER BY n.conversation_id, n.noted_by LIMIT $4
            """)
        complete = Statement(
            "\(table)_complete", parameters: [.array(.int2), .array(.int8)],
            """
            SELECT s.slot FROM unnest($1::smallint[], $2::bigint[]) AS k(slot, epoch)
            JOIN \(schema).slots s ON s.slot = k.slot
            WHERE s.noted_epoch >= k.epoch
            """)
        completed = Statement(
            "\(table)_completed", parameters: [.array(.int2), .array(.int8)],
            """
            UPDATE \(schema).slots s SET noted_epoch = k.epoch
            FROM unnest($1::smallint[], $2::bigint[]) AS k(slot, epoch)
            WHERE s.slot = k.slot AND s.noted_epoch < k.epoch
            """)
    }
}

/// A row of the notes.
public struct Note: Hashable, Sendable {
    public let conversation: ConversationID
    let number: Int64

    /// Before the first.
    static let start = Note(conversation: ConversationID(.zero), number: .min)

    init(conversation: ConversationID, number: Int64) {
        self.conversation = conversation
        self.number = number
    }

    /// A row of `note` and `noted`.
    init(_ row: Row) { self.init(conversation: row[0], number: row[1]) }
}

extension Parameters {
    mutating func add(_ notes: some Collection<Note>) {
        addArray(of: .int2)
        for note in notes { append(note.conversation.slot) }
        addArray(of: .uuid)
        for note in notes { append(note.conversation) }
        addArray(of: .int8)
        for note in notes { append(note.number) }
    }

    mutating func add(_ epochs: [Slot: Int64]) {
        addArray(of: .int2)
        for slot in epochs.keys { append(slot) }
        addArray(of: .int8)
        for epoch in epochs.values { append(epoch) }
    }
}
