import Models
import Postgres
import Reactor

/// Keeps in a small table which conversations have work that follows a commit and may not be done yet: whoever takes a slot
/// over looks at those, and not at all that there are.
///
/// A note is written by the transaction that makes the work, so none is missing, whenever a process dies. It goes when the
/// work is done and the conversation has rested for a minute: a busy one is noted once. One writer has one of these, and
/// removes what it has noted itself or has found at a takeover, by its number (`NotedWork`).
@Reactor
public final class WorkNotes {
    private static let lookInterval = Duration.milliseconds(250)
    private static let pageSize: Int64 = 1_000

    private let statements: NoteStatements
    /// Where notes are removed, and what a takeover has to write: a connection on which no message waits.
    private let background: Connection
    private let isDone: @Reactor (ConversationID) -> Bool
    private var work: NotedWork
    /// Nothing is removed meanwhile.
    private var searches = 0
    public private(set) var written = 0

    /// - Parameters:
    ///   - writer: the connection of the batches.
    ///   - background: another one, or the same. Both must have prepared the statements.
    ///   - isDone: whether nothing of a conversation is left to be done that was committed.
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
        // What was under way may have been committed or not. It is found with all else when the slots are taken again.
        writer.onLoss { [weak self] _ in self?.work.forgetAll() }
        Reactor.every(Self.lookInterval) { [weak self] in self?.removeDone() }
    }

    /// Conversations that are noted.
    public var count: Int { work.count }

    // MARK: Batches

    /// Adds the statement that notes what is not noted yet of the conversations that the batch will move. `end` must follow.
    ///
    /// - Returns: how many statements that was: one or none.
    public func begin(_ conversations: some Sequence<ConversationID>, in batch: inout Batch) -> Int {
        let missing = work.begin(conversations, at: .now)
        guard !missing.isEmpty else { return 0 }
        batch.execute(statements.note) { $0.add(missing) }
        return 1
    }

    /// The batch has ended. `rows`: what its statement of `begin` returned; nil: there was none, or it is not committed.
    public func end(_ conversations: some Sequence<ConversationID>, _ rows: Rows?) {
        let written = rows.map { $0.map(Note.init) } ?? []
        self.written += written.count
        work.end(conversations, written: written, at: .now)
    }

    /// What there is to do in a conversation could not be remembered: its note stays until a search has found it.
    public func hold(_ conversation: ConversationID) { work.hold(conversation) }

    private func removeDone() {
        guard background.isUp, searches == 0 else { return }
        let done = work.takeDone(at: .now, isDone: isDone)
        guard !done.isEmpty else { return }
        // What fails is found at the slot's next takeover.
        background.submit({ $0.execute(statements.forget) { $0.add(done) } }, completion: { _ in })
    }

    // MARK: Takeover

    /// Finds what is noted of some slots, and calls `body` with it, page by page. Of slots in which owners of an older version
    /// may have left work without a note, `everything` has to find it: it calls `keep` before it does anything with it.
    ///
    /// - Parameters:
    ///   - epochs: those under which the slots are owned.
    ///   - connection: where notes are read; it has prepared the statements, too.
    public func search(
        _ epochs: [Slot: Int64], on connection: Connection,
        noted body: @Reactor ([ConversationID]) async throws(DatabaseError) -> Void,
        everything: @Reactor (Set<Slot>) async throws(DatabaseError) -> Void
    ) async throws(DatabaseError) {
        searches += 1
        defer { searches -= 1 }
        work.release(in: Set(epochs.keys))
        let complete = Set(try await connection.query(statements.complete) { $0.add(epochs) }.map { $0[0] as Slot })
        let incomplete = epochs.filter { !complete.contains($0.key) }
        if !incomplete.isEmpty {
            try await everything(Set(incomplete.keys))
            _ = try await background.query(statements.completed) { $0.add(incomplete) }
        }
        for slot in epochs.keys.sorted() { try await search(slot, on: connection, body) }
    }

    private func search(
        _ slot: Slot, on connection: Connection,
        _ body: @Reactor ([ConversationID]) async throws(DatabaseError) -> Void
    ) async throws(DatabaseError) {
        var place: Note? = .start
        while let after = place {
            let notes = try await connection.query(statements.noted) { parameters in
                parameters.add(slot)
                parameters.add(after.conversation)
                parameters.add(after.number)
                parameters.add(Self.pageSize)
            }.map(Note.init)
            work.adopt(notes, at: .now)
            let conversations = Array(Set(notes.map(\.conversation))).sorted { $0.uuid < $1.uuid }
            if !conversations.isEmpty { try await body(conversations) }
            place = notes.count == Self.pageSize ? notes.last : nil
        }
    }

    /// Notes conversations outside of a batch.
    public func keep(_ conversations: some Collection<ConversationID>) async throws(DatabaseError) {
        let notes = work.begin(conversations, at: .now)
        var rows: Rows?
        defer { end(conversations, rows) }
        if !notes.isEmpty { rows = try await background.query(statements.note) { $0.add(notes) } }
    }
}
