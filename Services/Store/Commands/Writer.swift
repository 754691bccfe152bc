import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Commits commands in batches, by back-pressure. Commands that arrive while earlier batches are in flight form the
/// next one. A lone command never waits, and a crowd shares its commit.
@Reactor
final class Writer {
    /// The limit of waiting commands. Beyond it a command is refused as overload; at 30,000 rows/s this is a second's
    /// work.
    static let waitingLimit = CommandQueue.Size(rows: 32_768, bytes: 64 << 20)
    /// The limit of one batch. libpq never returns memory, so this bounds what it holds to a few batches.
    static let batchLimit = CommandQueue.Size(rows: 1_000, bytes: 4 << 20)
    /// Two: PostgreSQL has its next batch while this process encodes the responses of the last one.
    nonisolated static let batchesInFlight = 2

    /// How long what was borrowed may stay in the files of temporary tables: what is erased leaves them, and they do not grow.
    private static let clearAfter = Duration.seconds(10)

    let connection: Connection
    private let outcomes: CommandOutcomes
    private let bus: Bus
    private let conversationLimit: ConversationLimit
    private let log: Log
    /// Whether what carries attachments may be replied to.
    var answersAttachments = false
    /// Records which conversations are not indexed yet. Nil if nothing uses the notes.
    var notes: WorkNotes?
    /// Whether a slot is this store's. What waits is sent for no other: behind the unlock it could be committed under the
    /// next owner's epoch, and nothing would reveal that change if its frame were lost.
    var owns: @Reactor (Slot) -> Bool = { _ in true }
    /// Whether the rows of users are borrowed (`Borrowing`), on a connection that is made for that.
    var borrows = false
    private var clearTimer: TimerID?
    /// Called after each commit.
    var onCommit: @Reactor (BatchPlan) -> Void = { _ in }
    /// Called with slots in which commits may have happened without an announcement.
    var onDoubt: @Reactor (Set<Slot>) -> Void = { _ in }
    /// Of imports, which leave room for others. Nil: batches begin when there is room at the connection.
    var pace: ImportPace?
    private var restTimer: TimerID?
    private(set) var metrics = WriterMetrics()
    private var queue = CommandQueue()
    private var isPlanned = false
    private var inFlight = 0

    init(
        _ connection: Connection, bus: Bus, outcomes: CommandOutcomes, conversationLimit: ConversationLimit, log: Log
    ) {
        self.conversationLimit = conversationLimit
        self.connection = connection
        self.bus = bus
        self.outcomes = outcomes
        self.log = log
        connection.onUp { [unowned self] in beginBatches() }
        connection.onLoss { [unowned self] _ in abandonWaiting() }
    }

    nonisolated static let statements =
        [
            SendStatement.statement.untyped, SendOneStatement.statement.untyped,
            SendAttachmentsStatement.statement.untyped, MergedReads.statement.untyped,
            PrivateTail.trim.untyped, RecentOutcomes.sweep.untyped,
        ] + LockStatement.all + BatchSteps.statements + SearchIndex.notes.all + MediaStatements.ofReleases

    var waiting: CommandQueue.Size { queue.size }
    var isIdle: Bool { inFlight == 0 && queue.isEmpty }

    /// Adds a command, to be committed with others that arrive in this turn. Returns false when too many are waiting.
    func add(_ command: Command) -> Bool {
        guard queue.append(command, limit: Self.waitingLimit) else { return false }
        planBatches()
        return true
    }

    private func planBatches() {
        guard !isPlanned else { return }
        isPlanned = true
        Reactor.atEndOfTurn { [self] in
            isPlanned = false
            beginBatches()
        }
    }

    private func beginBatches() {
        // Most shards' stores never borrow: a session begins with the first command that needs one.
        if borrows && connection.isResting && !queue.isEmpty { connection.open() }
        while connection.isUp, mayBegin(),
            let commands = queue.nextBatch(limit: Self.batchLimit)
        {
            let owned = abandonLost(commands)
            if !owned.isEmpty { submit(owned) }
        }
    }

    /// Returns the commands of slots that are owned. The next owner is asked for the others, by their repetitions.
    private func abandonLost(_ commands: [Command]) -> [Command] {
        let lost = commands.filter { !owns($0.slot) }
        guard !lost.isEmpty else { return commands }
        for command in lost { bus.abandon(command.request) }
        return commands.filter { owns($0.slot) }
    }

    private func mayBegin() -> Bool {
        guard let pace else { return inFlight < Self.batchesInFlight }
        guard !queue.isEmpty, let begin = pace.begin(inFlight: inFlight, at: .now) else { return false }
        guard begin > .now else { return true }
        restTimer =
            restTimer
            ?? Reactor.after(begin - .now) { [self] in
                restTimer = nil
                beginBatches()
            }
        return false
    }

    private func submit(_ commands: [Command]) {
        let plan = BatchPlan(commands.lazy.map(\.action), borrows: borrows)
        let start = MonotonicTime.now
        inFlight += 1
        /// How many statements come before each run, and at the end.
        var bounds: [Int] = []
        bounds.reserveCapacity(plan.runs.count + 1)
        var hasNote = false
        connection.submit { batch in
            hasNote = notes?.begin(plan.locks.conversations, in: &batch) == 1
            LockStatement.add(plan.locks, borrowingFrom: borrows ? commands[0].slot : nil, to: &batch)
            bounds.append(batch.statementCount)
            for run in plan.runs {
                add(run, of: plan, commands, to: &batch)
                bounds.append(batch.statementCount)
            }
            if borrows { Borrowing.giveBack(in: &batch) }
        } completion: { [self] outcome in
            inFlight -= 1
            pace?.ended(begun: start, at: .now)
            metrics.observe(rows: plan.items.count + plan.reads.entries.count, time: .now - start)
            notes?.end(plan.locks.conversations, hasNote ? outcome.firstRows : nil)
            finish(commands, plan, outcome, bounds)
        }
    }

    private func add(_ run: Run, of plan: BatchPlan, _ commands: [Command], to batch: inout Batch) {
        switch run {
        case .send(let range, let layout):
            SendStatement.add(to: &batch, plan.items[range], layout, answersAttachments: answersAttachments)
        case .step(let step, let index): step.add(to: &batch, commands[index].request, conversationLimit)
        case .read: plan.reads.add(to: &batch)
        }
    }

    private func finish(_ commands: [Command], _ plan: BatchPlan, _ outcome: BatchOutcome, _ bounds: [Int]) {
        switch outcome {
        case .committed(let rows):
            beginBatches()  // First: PostgreSQL works while the responses are encoded.
            outcomes.announceAndRespond(commands, plan, rows, bounds)
            onCommit(plan)
        case .failed(let error, _) where error.isRaceLost:
            metrics.racesLost += 1
            queue.retry([commands])
        case .failed(let error, _) where error.isFaultOfData:
            logFailure(error)
            isolateCulprit(commands)
        case .failed(let error, _), .unknown(let error):
            // No outcome may be reported. Repetitions of these commands find out what was committed.
            logFailure(error)
            giveUpDamagedTables(after: error)
            if case .unknown = outcome { onDoubt(Set(commands.map(\.slot))) }
            for command in commands { bus.abandon(command.request) }
        }
        if borrows { planClear() }  // Failed or not: it has filled them.
        beginBatches()
    }

    private func planClear() {
        guard clearTimer == nil else { return }
        clearTimer = Reactor.after(Self.clearAfter) { [self] in
            clearTimer = nil
            guard connection.isUp else { return }  // A session that has ended has left nothing.
            connection.submit(Borrowing.clear) { [self] outcome in
                guard case .failed(let error, _) = outcome else { return }
                logFailure(error)
                giveUpDamagedTables(after: error)
            }
        }
    }

    private func giveUpDamagedTables(after error: DatabaseError) {
        if borrows && error.mayHaveDamagedTemporaryTables { connection.giveUpSession("its tables may be damaged") }
    }

    /// Halves a batch that the database refuses until the faulty command is alone. Only that one is refused.
    private func isolateCulprit(_ commands: [Command]) {
        guard commands.count > 1 else {
            return bus.respond(to: commands[0].request, Problem(.invalid, "the database refuses this request"))
        }
        metrics.batchesHalved += 1
        let half = commands.count / 2
        queue.retry([Array(commands[..<half]), Array(commands[half...])])
    }

    private func logFailure(_ error: DatabaseError) {
        log.warning("batch failed", [LogField("reason", error.debugDescription)])
    }

    private func abandonWaiting() {
        while let commands = queue.nextBatch(limit: Self.batchLimit) {
            for command in commands { bus.abandon(command.request) }
        }
    }
}

extension BatchOutcome {
    /// The rows of the first statement of a committed batch.
    fileprivate var firstRows: Rows? { if case .committed(let rows) = self { rows.first } else { nil } }
}

extension DatabaseError {
    /// Whether the statement would always fail: a value that PostgreSQL cannot take, or a constraint (classes 22 and
    /// 23).
    var isFaultOfData: Bool { sqlState.category == "22" || sqlState.category == "23" }

    /// Whether the server lacked something, or found its files other than they should be (classes 53, 58 and XX; appendix A). A
    /// temporary table whose file could not grow, on a full disk, stays unreadable for as long as its session lasts.
    fileprivate var mayHaveDamagedTemporaryTables: Bool { ["53", "58", "XX"].contains(sqlState.category) }
}
