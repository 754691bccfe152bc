import Models
import Postgres
import Reactor

/// Notes in a small table which conversations may have unfinished work that follows a commit. A process that takes a
/// slot over checks only these, and not every conversation.
///
/// The transaction that creates the work writes the note, so none is missing, whenever a process dies. The note is
/// removed when the work is done and the conversation was idle for a minute: a busy conversation is noted once. Each
/// writer has one `WorkNotes`, and removes the notes that it wrote itself or found at a takeover, by number
/// (`NotedWork`).
@Reactor
public final class WorkNotes {
    private static let scanInterval = Duration.milliseconds(250)
    private static let pageSize: Int64 = 1_000

    private let statements: NoteStatements
    /// Deletes notes and writes those of a takeover. No message waits on this connection.
    private let background: Connection
    private let isDone: @Reactor (ConversationID) -> Bool
    private var work: NotedWork
    /// Takeover searches in progress. No note is removed meanwhile.
    private var searches = 0
    public private(set) var written = 0

    /// - Parameters:
    ///   - writer: the connection that sends the batches.
    ///   - background: another connection, or the same one. Both must have prepared the statements.
    ///   - isDone: whether all committed work of a conversation is done.
    public init(
        _ statements: NoteStatements, writer: Connection, background: Connection, slots: OwnedSlots,
        isDone: @escaping @Reactor (ConversationID) -> Bool
    ) {
        self.statements = statements
        self.background = background
        self.isDone = isDone
        var random = ProcessRandom()
        work = NotedWork(firstNumber: .random(in: 0 ..< .max / 2, using: &random))
        slots.onLost { [weak self] in self?.work.forget($0) }
        // Batches in flight may have been committed or not. Their notes are found when the slots are acquired again.
        writer.onLoss { [weak self] _ in self?.work.forgetAll() }
        Reactor.every(Self.scanInterval) { [weak self] in self?.removeDone() }
    }

    /// The number of noted conversations in memory.
    public var count: Int { work.count }

    // MARK: Batches

    /// Adds the statement that notes the conversations that the batch will move and that have no note yet. Call `end`
    /// afterwards.
    ///
    /// - Returns: the number of added statements, one or none.
    public func begin(_ conversations: some Sequence<ConversationID>, in batch: inout Batch) -> Int {
        let missing = work.begin(conversations, at: .now)
        guard !missing.isEmpty else { return 0 }
        batch.execute(statements.note) { $0.set($1, to: missing) }
        return 1
    }

    /// Ends a batch. `rows` is the result of the statement of `begin`; nil when there was none, or when the batch is
    /// not committed.
    public func end(_ conversations: some Sequence<ConversationID>, _ rows: Rows?) {
        let columns = statements.note.columns
        let written = rows.map { $0.map { Note($0, columns) } } ?? []
        self.written += written.count
        work.end(conversations, written: written, at: .now)
    }

    /// Keeps the note of a conversation until a search has found it, because its work could not be kept in memory.
    public func hold(_ conversation: ConversationID) { work.hold(conversation) }

    private func removeDone() {
        guard background.isUp, searches == 0 else { return }
        let done = work.takeDone(at: .now, isDone: isDone)
        guard !done.isEmpty else { return }
        // A failure is repaired at the slot's next takeover.
        background.submit({ $0.execute(statements.forget) { $0.set($1, to: done) } }, completion: { _ in })
    }

    // MARK: Takeover

    /// Finds the notes of some slots and calls `body` with their conversations, page by page. In slots whose former
    /// owners ran a version that may have left work without a note, it calls `everything`, which has to find all work
    /// and to call `keep` before it starts any.
    ///
    /// - Parameters:
    ///   - epochs: the owned slots and their epochs.
    ///   - connection: the connection that reads the notes; it must have prepared the statements.
    public func search(
        _ epochs: [Slot: Int64], on connection: Connection,
        noted body: @Reactor ([ConversationID]) async throws(DatabaseError) -> Void,
        everything: @Reactor (Set<Slot>) async throws(DatabaseError) -> Void
    ) async throws(DatabaseError) {
        searches += 1
        defer { searches -= 1 }
        work.release(in: Set(epochs.keys))
        let slots = try await connection.query(statements.complete) { $0.set($1, to: epochs) }
        let complete = Set(slots.map { $0[statements.complete.columns.slot] })
        let incomplete = epochs.filter { !complete.contains($0.key) }
        if !incomplete.isEmpty {
            try await everything(Set(incomplete.keys))
            _ = try await background.query(statements.completed) { $0.set($1, to: incomplete) }
        }
        for slot in epochs.keys.sorted() { try await search(slot, on: connection, body) }
    }

    private func search(
        _ slot: Slot, on connection: Connection,
        _ body: @Reactor ([ConversationID]) async throws(DatabaseError) -> Void
    ) async throws(DatabaseError) {
        var cursor: Note? = .start
        while let after = cursor {
            let notes = try await connection.query(statements.noted) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.afterConversation, to: after.conversation)
                parameters.set(input.afterNumber, to: after.number)
                parameters.set(input.limit, to: Self.pageSize)
            }.map { Note($0, statements.noted.columns) }
            work.adopt(notes, at: .now)
            let conversations = Array(Set(notes.map(\.conversation))).sorted { $0.uuid < $1.uuid }
            if !conversations.isEmpty { try await body(conversations) }
            cursor = notes.count == Self.pageSize ? notes.last : nil
        }
    }

    /// Writes notes for conversations outside of a batch.
    public func keep(_ conversations: some Collection<ConversationID>) async throws(DatabaseError) {
        let notes = work.begin(conversations, at: .now)
        var rows: Rows?
        defer { end(conversations, rows) }
        if !notes.isEmpty { rows = try await background.query(statements.note) { $0.set($1, to: notes) } }
    }
}
