import Bus
import Bytes
import Models
import Postgres
import Reactor
import Wire

/// A kind of command: what it locks, the statements that carry it out, and what becomes of their rows.
///
/// A batch takes one step after the other, in the order of their commands. Messages and read positions are not steps,
/// because a batch merges them: see `SendLayout` and `MergedReads`.
protocol BatchStep: Sendable {
    /// The statements of the kind, which the connection prepares.
    static var statements: [Statement] { get }

    /// Whether it may take long and nobody waits for it on a screen, so that it is committed apart from messages.
    static var isBackgroundWork: Bool { get }

    /// Whether it brings a history, which leaves room for others (`ImportPace`).
    static var isImport: Bool { get }

    init(from reader: inout ByteReader) throws(WireError)

    /// Whether all that it reads and writes has the slot of its command. If not, it names in `Locks` all users whose rows it
    /// reads or writes: where their slots are in other shards, they are borrowed.
    var isOfOneSlot: Bool { get }

    /// The number of rows it adds to a batch.
    var rowCount: Int { get }

    /// Locks what it depends on and what it writes to, for the whole batch and before the first step of it.
    func lock(_ locks: inout Locks)

    /// Adds its statements, always at least one.
    func add(to batch: inout Batch, _ request: RequestKey, _ limit: ConversationLimit)

    /// Announces and answers the command, which was committed with these rows.
    @Reactor func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes)
}

extension BatchStep {
    static var isBackgroundWork: Bool { false }
    static var isImport: Bool { false }
    var rowCount: Int { 1 }
}

/// The kinds of commands that are steps of a batch.
enum BatchSteps {
    static let kinds: [StoreRequestKind: any BatchStep.Type] = [
        .createConversation: CreateConversation.self,
        .write: ConversationWrite.self,
        .putSettings: PutSettings.self,
        .putProfile: PutProfile.self,
        .eraseUser: EraseUser.self,
        .eraseStep: EraseStep.self,
        .revokeTokens: RevokeTokens.self,
        .endDevices: EndDevices.self,
        .noteDevice: NoteDevice.self,
        .suspendUser: SuspendUser.self,
        .expireMessages: ExpireMessages.self,
        .sendScheduled: SendScheduled.self,
        .trimHistory: TrimHistory.self,
        .recordAct: RecordAct.self,
        .endAct: EndAct.self,
        .importRecords: ImportStep.self,
        .dropImport: DropImport.self,
    ]

    static let statements = kinds.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { $0.value.statements }

    static func decode(_ kind: StoreRequestKind, _ reader: inout ByteReader) throws(WireError) -> any BatchStep {
        guard let type = kinds[kind] else { throw .unknownValue(field: "command kind", UInt64(kind.rawValue)) }
        return try type.init(from: &reader)
    }
}

/// The rows that a step's statements returned.
struct StepRows {
    private let rows: ArraySlice<Rows>

    init(_ rows: ArraySlice<Rows>) { self.rows = rows }

    /// The number of its statements.
    var count: Int { rows.count }

    /// The rows of one of its statements, from 0.
    subscript(statement: Int) -> Rows { rows[rows.startIndex + statement] }

    /// The row of a first statement that always returns one.
    var row: Row {
        guard let row = self[0].first else { preconditionFailure("the first statement of a step returns a row") }
        return row
    }
}
