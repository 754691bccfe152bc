import Models
import Postgres
import Reactor
import Slots
import Wire

/// The read positions of a batch: the highest of each user in each conversation, reported to the users' own devices.
struct MergedReads {
    /// Ordered by key once they are merged. Each key then occurs once.
    private(set) var entries: [ReadPositions.Entry] = []
    /// The indices of the commands that they come from.
    private(set) var commands: [Int] = []

    mutating func append(_ positions: ReadPositions, of command: Int) {
        entries += positions.entries
        commands.append(command)
    }

    mutating func merge() {
        entries.sort { ($0.user, $0.conversation.uuid, $1.readSeq) < ($1.user, $1.conversation.uuid, $0.readSeq) }
        var merged: [ReadPositions.Entry] = []
        for entry in entries where merged.last.map({ !$0.isAboutTheSame(as: entry) }) ?? true { merged.append(entry) }
        entries = merged
    }

    /// Of two racing positions the lower is never reported after the higher, because the user's stream is locked.
    func lock(_ locks: inout Locks) {
        for entry in entries { locks.insert(streamOf: entry.user) }
    }

    struct Input: NamedFields {
        let userSlots: Parameter<[Slot]>
        let users: Parameter<[UserID]>
        let conversations: Parameter<[ConversationID]>
        let readSeqs: Parameter<[Int64]>
    }

    struct Columns: NamedFields {
        let ordinal: Column<Int64>
        let useq: Column<Int64>
        let at: Column<Timestamp>
    }

    static let statement = PreparedStatement<Input, Columns>("tell_read", PackageResources.tell_read_sql, .store)

    func add(to batch: inout Batch) {
        batch.execute(Self.statement) { parameters, input in
            parameters.set(input.userSlots, to: entries.lazy.map(\.user.slot))
            parameters.set(input.users, to: entries.lazy.map(\.user))
            parameters.set(input.conversations, to: entries.lazy.map(\.conversation))
            parameters.set(input.readSeqs, to: entries.lazy.map(\.readSeq))
        }
    }

    /// A position reported before is a success, too.
    @Reactor func finish(_ batch: [Command], _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let columns = Self.statement.columns
        for row in rows[0] {
            let entry = entries[Int(row[columns.ordinal]) - 1]
            outcomes.announcer.announce(
                PrivateChangeFields(
                    useq: row[columns.useq], kind: .readMoved, at: row[columns.at], conversation: entry.conversation,
                    readSeq: entry.readSeq),
                to: entry.user, causedIn: entry.user.slot)
        }
        for command in commands { outcomes.bus.respond(to: batch[command].request, status: 204) }
    }
}

extension ReadPositions.Entry {
    fileprivate func isAboutTheSame(as other: Self) -> Bool {
        user == other.user && conversation == other.conversation
    }
}
