import Models
import Postgres
import SimulationSupport

// Notes of work that follows a commit and may still be pending: `NoteStatements`.
extension Database {
    /// $1 slots · $2 conversations · $3 numbers
    func note(_ table: String, _ arguments: Arguments) -> [SimulatedRow] {
        notes(arguments).filter { note in
            guard tables.conversations[note.conversation] != nil else { return false }
            return tables.notes[table, default: []].insert(note).inserted
        }.map { [SimulatedValue($0.conversation), SimulatedValue($0.number)] }
    }

    /// As above.
    func forget(_ table: String, _ arguments: Arguments) -> [SimulatedRow] {
        tables.notes[table]?.subtract(notes(arguments))
        return []
    }

    private func notes(_ arguments: Arguments) -> [Tables.Note] {
        let conversations: [ConversationID] = arguments.array(1)
        let numbers: [Int64] = arguments.array(2)
        return zip(conversations, numbers).map { Tables.Note(conversation: $0, number: $1) }
    }

    /// $1 slot · after $2 conversation, $3 number. There are never enough for a second page.
    func noted(_ table: String, _ arguments: Arguments) -> [SimulatedRow] {
        let slot: Slot = arguments.value(0)
        return tables.notes[table, default: []].filter { $0.conversation.slot == slot }
            .sorted { ($0.conversation.uuid, $0.number) < ($1.conversation.uuid, $1.number) }
            .map { [SimulatedValue($0.conversation), SimulatedValue($0.number)] }
    }

    /// $1 slots · $2 epochs
    func complete(_ table: String, _ arguments: Arguments) -> [SimulatedRow] {
        epochs(arguments).filter { tables.notedEpochs[table]?[$0] ?? -1 >= $1 }.map { [SimulatedValue($0.0)] }
    }

    /// As above.
    func completed(_ table: String, _ arguments: Arguments) -> [SimulatedRow] {
        for (slot, epoch) in epochs(arguments) {
            tables.notedEpochs[table, default: [:]][slot] = max(tables.notedEpochs[table]?[slot] ?? -1, epoch)
        }
        return []
    }

    private func epochs(_ arguments: Arguments) -> [(Slot, Int64)] {
        Array(zip(arguments.array(0) as [Slot], arguments.array(1) as [Int64]))
    }
}
