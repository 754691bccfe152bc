import Models
import Reactor

/// The notes of a process: which conversations are noted, and when a note may be removed.
///
/// Every new note has a new number, so removing a note never removes one that was written later, whoever removes it and
/// whenever.
///
/// Pure: time is a parameter.
struct NotedWork {
    /// The most conversations kept in memory. Further notes stay in the table until the slot's next takeover.
    static let capacity = 65_536
    /// How long a conversation must be idle before its note is removed. A conversation that moves more often has a
    /// single note.
    static let quiet = Duration.seconds(60)
    /// Conversations checked in one scan, and when memory runs short.
    static let scanSize = 128
    static let urgentScanSize = 1_024

    private struct Entry {
        var number: Int64
        /// Whether the row is in the table.
        var isWritten = false
        /// Batches in flight that rely on the note.
        var inFlight = 0
        /// Numbers of notes by former owners, whose work this process has taken over.
        var adopted: [Int64] = []
        /// The slot's generation when the note was made. If the slot's differs, the next owner removes the note.
        var generation: Int
        var movedAt: MonotonicTime
    }

    private var entries: [ConversationID: Entry] = [:]
    private var held: Set<ConversationID> = []
    private var generations = [Int](repeating: 0, count: Slot.count)
    /// Every entry once, in the order of their next checks.
    private var order = FIFO<(conversation: ConversationID, at: MonotonicTime)>()
    private var nextNumber: Int64

    init(firstNumber: Int64) { nextNumber = firstNumber }

    var count: Int { entries.count }

    /// Begins a batch that moves these conversations. Returns the notes that the batch must write. Call `end`
    /// afterwards.
    mutating func begin(_ conversations: some Sequence<ConversationID>, at now: MonotonicTime) -> [Note] {
        var missing: [Note] = []
        for conversation in conversations {
            if let index = entries.index(forKey: conversation) {
                renew(index)
                entries.values[index].inFlight += 1
                guard !entries.values[index].isWritten else { continue }
                missing.append(Note(conversation: conversation, number: entries.values[index].number))
            } else {
                missing.append(Note(conversation: conversation, number: takeNumber()))
                remember(missing[missing.count - 1], inFlight: 1, at: now)
            }
        }
        return missing
    }

    /// Ends a batch. `written` are its notes that are in the table now, if it was committed.
    mutating func end(
        _ conversations: some Sequence<ConversationID>, written: some Sequence<Note>, at now: MonotonicTime
    ) {
        for note in written where entries[note.conversation]?.number == note.number {
            entries[note.conversation]!.isWritten = true
        }
        for conversation in conversations {
            guard let index = entries.index(forKey: conversation) else { continue }
            entries.values[index].inFlight -= 1
            entries.values[index].movedAt = now
        }
    }

    /// Takes over notes found in the table. They may include this process's own.
    mutating func adopt(_ notes: some Sequence<Note>, at now: MonotonicTime) {
        for note in notes {
            if entries[note.conversation] == nil {
                remember(Note(conversation: note.conversation, number: takeNumber()), inFlight: 0, at: now)
            }
            guard let index = entries.index(forKey: note.conversation) else { continue }
            renew(index)
            let entry = entries.values[index]
            if entry.number == note.number {
                entries.values[index].isWritten = true
            } else if !entry.adopted.contains(note.number) {
                entries.values[index].adopted.append(note.number)
            }
        }
    }

    /// Keeps a conversation's note until `release`.
    mutating func hold(_ conversation: ConversationID) {
        if entries[conversation] != nil { held.insert(conversation) }
    }

    mutating func release(in slots: Set<Slot>) { held = held.filter { !slots.contains($0.slot) } }

    /// Removes the entries that are no longer needed. Returns the rows to delete.
    mutating func takeDone(at now: MonotonicTime, isDone: (ConversationID) -> Bool) -> [Note] {
        let isShortOfMemory = entries.count > Self.capacity / 2
        let quiet = isShortOfMemory ? .zero : Self.quiet
        var removed: [Note] = []
        for _ in 0..<min(isShortOfMemory ? Self.urgentScanSize : Self.scanSize, order.count) {
            guard let first = order.first, first.at + quiet <= now else { break }
            _ = order.popFirst()
            guard let index = entries.index(forKey: first.conversation) else { continue }
            renew(index)
            let entry = entries.values[index]
            if entry.inFlight == 0, !held.contains(first.conversation), entry.movedAt + quiet <= now,
                isDone(first.conversation)
            {
                entries[first.conversation] = nil
                let numbers = entry.adopted + (entry.isWritten ? [entry.number] : [])
                removed += numbers.map { Note(conversation: first.conversation, number: $0) }
            } else {
                order.append((first.conversation, now))
            }
        }
        return removed
    }

    /// Forgets the notes of a slot: from now on its next owner removes the notes it finds there.
    mutating func forget(_ slot: Slot) { generations[Int(slot.number)] += 1 }

    /// Forgets all notes.
    mutating func forgetAll() {
        entries = [:]
        held = []
        order = FIFO()
    }

    /// Renumbers an entry whose note belongs to another owner by now.
    private mutating func renew(_ index: Dictionary<ConversationID, Entry>.Index) {
        let generation = generations[Int(entries.keys[index].slot.number)]
        guard entries.values[index].generation != generation else { return }
        entries.values[index].generation = generation
        entries.values[index].number = takeNumber()
        entries.values[index].isWritten = false
        entries.values[index].adopted = []
    }

    private mutating func takeNumber() -> Int64 {
        nextNumber &+= 1
        return nextNumber
    }

    private mutating func remember(_ note: Note, inFlight: Int, at now: MonotonicTime) {
        guard entries.count < Self.capacity else { return }
        let generation = generations[Int(note.conversation.slot.number)]
        entries[note.conversation] = Entry(
            number: note.number, inFlight: inFlight, generation: generation, movedAt: now)
        order.append((note.conversation, now))
    }
}
