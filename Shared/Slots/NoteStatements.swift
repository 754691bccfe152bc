import Models
import Postgres

/// The SQL of `WorkNotes`. It uses a table `<schema>.<table> (slot, conversation_id, noted_by)`, whose key begins with
/// the slot, and `<schema>.slots (slot, epoch, noted_epoch)`.
public struct NoteStatements: Sendable {
    /// Inserts notes for the conversations that exist, and returns the inserted rows.
    let note: Statement
    let forget: Statement
    /// $1 slot · after $2 conversation, $3 number · $4 limit.
    let noted: Statement
    /// Given slots and the epochs under which they are owned, returns those in which all work is done or noted.
    let complete: Statement
    /// Records that all work of slots is done or noted.
    let completed: Statement

    public var all: [Statement] { [note, forget, noted, complete, completed] }

    /// All names come from code and are not quoted.
    ///
    /// - Parameter existence: the table with one row per conversation, and its id column.
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

/// A row of the table of notes.
public struct Note: Hashable, Sendable {
    public let conversation: ConversationID
    let number: Int64

    /// The position before the first note.
    static let start = Note(conversation: ConversationID(.zero), number: .min)

    init(conversation: ConversationID, number: Int64) {
        self.conversation = conversation
        self.number = number
    }

    /// Reads a row of `note` or `noted`.
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
