import Models
import Reactor

/// What a process remembers of the notes in its table: which conversations are noted, and when a note may go.
///
/// Each time a conversation is noted that is not, its note has a number of its own, so to remove a note never removes one
/// that was written later, whoever does it and whenever.
///
/// Pure: time is a parameter.
struct NotedWork {
    /// Conversations that are remembered. What is noted beyond it stays in the table until the slot's next takeover.
    static let capacity = 65_536
    /// How long a conversation rests before its note goes. Who moves it once in that time writes one note for all.
    static let quiet = Duration.seconds(60)
    /// Conversations that one look is for; more when memory runs short.
    static let usualLook = 128
    static let hurriedLook = 1_024

    private struct Entry {
        var number: Int64
        /// The row is in the table.
        var isWritten = false
        /// Batches under way that rest on it.
        var underWay = 0
        /// Those of others, whose work is this process's now.
        var adopted: [Int64] = []
        /// That of its slot when the note was made: another one, and the note is its next owner's to remove.
        var generation: Int
        var movedAt: MonotonicTime
    }

    private var entries: [ConversationID: Entry] = [:]
    private var held: Set<ConversationID> = []
    private var generations = [Int](repeating: 0, count: Slot.count)
    /// Every entry once, the one to be looked at next first.
    private var order = FIFO<(conversation: ConversationID, at: MonotonicTime)>()
    private var nextNumber: Int64

    init(firstNumber: Int64) { nextNumber = firstNumber }

    var count: Int { entries.count }

    /// A batch is to move these conversations. Returns the notes that it has to write; `end` must follow.
    mutating func begin(_ conversations: some Sequence<ConversationID>, at now: MonotonicTime) -> [Note] {
        var missing: [Note] = []
        for conversation in conversations {
            if let index = entries.index(forKey: conversation) {
                renew(index)
                entries.values[index].underWay += 1
                guard !entries.values[index].isWritten else { continue }
                missing.append(Note(conversation: conversation, number: entries.values[index].number))
            } else {
                missing.append(Note(conversation: conversation, number: takeNumber()))
                remember(missing[missing.count - 1], underWay: 1, at: now)
            }
        }
        return missing
    }

    /// The batch has ended. `written`: the notes of it that are in the table now, if it is committed.
    mutating func end(
        _ conversations: some Sequence<ConversationID>, written: some Sequence<Note>, at now: MonotonicTime
    ) {
        for note in written where entries[note.conversation]?.number == note.number {
            entries[note.conversation]!.isWritten = true
        }
        for conversation in conversations {
            guard let index = entries.index(forKey: conversation) else { continue }
            entries.values[index].underWay -= 1
            entries.values[index].movedAt = now
        }
    }

    /// Notes that are in the table and whose work is this process's from now on. Its own are among them.
    mutating func adopt(_ notes: some Sequence<Note>, at now: MonotonicTime) {
        for note in notes {
            if entries[note.conversation] == nil {
                remember(Note(conversation: note.conversation, number: takeNumber()), underWay: 0, at: now)
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

    /// The note stays until `release`, whatever is done.
    mutating func hold(_ conversation: ConversationID) {
        if entries[conversation] != nil { held.insert(conversation) }
    }

    mutating func release(in slots: Set<Slot>) { held = held.filter { !slots.contains($0.slot) } }

    /// Takes out what rests on nothing any more. Returns the rows that may go.
    mutating func takeDone(at now: MonotonicTime, isDone: (ConversationID) -> Bool) -> [Note] {
        let isHurried = entries.count > Self.capacity / 2
        let quiet = isHurried ? .zero : Self.quiet
        var gone: [Note] = []
        for _ in 0..<min(isHurried ? Self.hurriedLook : Self.usualLook, order.count) {
            guard let first = order.first, first.at + quiet <= now else { break }
            _ = order.popFirst()
            guard let index = entries.index(forKey: first.conversation) else { continue }
            renew(index)
            let entry = entries.values[index]
            if entry.underWay == 0, !held.contains(first.conversation), entry.movedAt + quiet <= now,
                isDone(first.conversation)
            {
                entries[first.conversation] = nil
                let numbers = entry.adopted + (entry.isWritten ? [entry.number] : [])
                gone += numbers.map { Note(conversation: first.conversation, number: $0) }
            } else {
                order.append((first.conversation, now))
            }
        }
        return gone
    }

    /// Forgets what is noted of a slot: from now on another process removes the notes it finds there.
    mutating func forget(_ slot: Slot) { generations[Int(slot.number)] += 1 }

    /// Forgets everything.
    mutating func forgetAll() {
        entries = [:]
        held = []
        order = FIFO()
    }

    /// Gives an entry whose note belongs to another process by now the number of a new note.
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

    private mutating func remember(_ note: Note, underWay: Int, at now: MonotonicTime) {
        guard entries.count < Self.capacity else { return }
        let generation = generations[Int(note.conversation.slot.number)]
        entries[note.conversation] = Entry(
            number: note.number, underWay: underWay, generation: generation, movedAt: now)
        order.append((note.conversation, now))
    }
}
