import Models
import Postgres

/// The statements of `WorkNotes`. They use a table `<schema>.<table> (slot, conversation_id, noted_by)`, whose key begins
/// with the slot, and `<schema>.slots (slot, epoch, noted_epoch)`.
public struct NoteStatements: Sendable {
    struct NotesInput: NamedFields {
        let key: ConversationsInput
        let numbers: Parameter<[Int64]>
    }

    struct PageInput: NamedFields {
        let slot: Parameter<Slot>
        let afterConversation: Parameter<ConversationID>
        let afterNumber: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct EpochsInput: NamedFields {
        let slots: Parameter<[Slot]>
        let epochs: Parameter<[Int64]>
    }

    struct NoteColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let notedBy: Column<Int64>
    }

    struct SlotColumns: NamedFields { let slot: Column<Slot> }

    let note: PreparedStatement<NotesInput, NoteColumns>
    let forget: PreparedStatement<NotesInput, NoFields>
    let noted: PreparedStatement<PageInput, NoteColumns>
    let complete: PreparedStatement<EpochsInput, SlotColumns>
    let completed: PreparedStatement<EpochsInput, NoFields>

    public var all: [Statement] {
        [note.untyped, forget.untyped, noted.untyped, complete.untyped, completed.untyped]
    }

    /// All names come from code and are not quoted.
    ///
    /// - Parameter existence: the table with one row per conversation, and its id column.
    public init(_ schema: String, _ table: String, existence: (table: String, id: String)) {
        let names = SQLNames(
            .sql("schema", schema), .sql("notes", "\(schema).\(table)"), .sql("conversations", existence.table),
            .sql("conversations.id", existence.id))
        note = PreparedStatement("note_\(table)", file: "note", PackageResources.note_sql, names)
        forget = PreparedStatement(
            "forget_\(table)", file: "forget_notes", PackageResources.forget_notes_sql, names)
        noted = PreparedStatement("noted_\(table)", file: "noted", PackageResources.noted_sql, names)
        complete = PreparedStatement(
            "\(table)_complete", file: "slots_with_all_noted", PackageResources.slots_with_all_noted_sql, names)
        completed = PreparedStatement(
            "\(table)_completed", file: "all_is_noted", PackageResources.all_is_noted_sql, names)
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

    init(_ row: Row, _ columns: NoteStatements.NoteColumns) {
        self.init(conversation: row[columns.conversationId], number: row[columns.notedBy])
    }
}

extension Parameters {
    mutating func set(_ input: NoteStatements.NotesInput, to notes: some Collection<Note>) {
        set(input.key, to: notes.lazy.map(\.conversation))
        set(input.numbers, to: notes.lazy.map(\.number))
    }

    mutating func set(_ input: NoteStatements.EpochsInput, to epochs: [Slot: Int64]) {
        set(input.slots, to: epochs.keys)
        set(input.epochs, to: epochs.values)
    }
}
