import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Commits signals in batches by back-pressure: signals that become ready while batches are in flight form the next
/// one. While messages are being written, `BatchPace` decides when the next batch may begin.
@Reactor
final class HorizonWriter {
    /// The limit of signals in one batch.
    static let batchLimit = 1_000

    private(set) var metrics = HorizonMetrics()
    /// Whether a slot is this service's. What waits is sent for no other, as in the store's `Writer`.
    var owns: @Reactor (Slot) -> Bool = { _ in true }
    /// On Citus, where the settings of users are asked for.
    var others: OtherShards?
    private let connection: Connection
    private let bus: Bus
    private let announcer: StatusAnnouncer
    private let teller: ReadTeller
    private let completions: CompletionKeeper
    private let notes: WorkNotes
    private let traffic: MessageTraffic
    private let log: Log
    private var pace = BatchPace()
    private var merger: SignalMerger
    private var known = KnownConversations()
    /// Batches to be sent again unchanged.
    private var retries: [[MergedSignal]] = []
    private var inFlight = 0
    private var isPlanned = false
    private var windowTimer: TimerID?
    private var restTimer: TimerID?

    init(
        _ connection: Connection, bus: Bus, announcer: StatusAnnouncer, teller: ReadTeller,
        completions: CompletionKeeper, notes: WorkNotes, traffic: MessageTraffic, window: Duration, log: Log
    ) {
        self.connection = connection
        self.bus = bus
        self.announcer = announcer
        self.teller = teller
        self.completions = completions
        self.notes = notes
        self.traffic = traffic
        self.log = log
        merger = SignalMerger(window: window)
        connection.onUp { [unowned self] in beginBatches() }
        connection.onLoss { [unowned self] _ in abandonWaiting() }
    }

    var isIdle: Bool { inFlight == 0 && merger.isEmpty && retries.isEmpty }
    var waitingCount: Int { merger.readyCount }

    /// Takes a signal. Its request gets a response when the signal is committed.
    func add(_ signal: ReceiptSignal, _ request: RequestKey) {
        metrics.signals += 1
        let merged = MergedSignal(
            key: HorizonKey(conversation: signal.conversation, user: signal.user),
            horizons: Horizons(delivered: signal.delivered, read: signal.read), requests: [request])
        switch merger.add(merged, at: .now) {
        case .alreadyCommitted: bus.respond(to: request, status: 202)
        case .accepted: planBatches()
        }
        planClosing()
    }

    /// Ends every window now, at the end of the process.
    func finish() {
        retries.append(contentsOf: merger.takeAll(at: .now).inOrder.chunked(by: Self.batchLimit))
        beginBatches()
    }

    // MARK: Timing

    private func planBatches() {
        guard !isPlanned else { return }
        isPlanned = true
        Reactor.atEndOfTurn { [self] in
            isPlanned = false
            beginBatches()
        }
    }

    private func planClosing() {
        guard windowTimer == nil, let end = merger.nextEnd else { return }
        windowTimer = Reactor.after(end - .now) { [self] in
            windowTimer = nil
            merger.closeWindows(at: .now)
            beginBatches()
            planClosing()
        }
    }

    // MARK: Batches

    private func beginBatches() {
        while connection.isUp, let signals = nextBatch() {
            let owned = abandonLost(signals)
            if !owned.isEmpty { submit(owned) }
        }
    }

    private func abandonLost(_ signals: [MergedSignal]) -> [MergedSignal] {
        let lost = signals.filter { !owns($0.key.conversation.slot) }
        guard !lost.isEmpty else { return signals }
        abandon(lost)
        return signals.filter { owns($0.key.conversation.slot) }
    }

    private func nextBatch() -> [MergedSignal]? {
        if !retries.isEmpty { return inFlight < BatchPace.batchesInFlight ? retries.removeFirst() : nil }
        guard let since = merger.readySince,
            let begin = pace.begin(
                since: since, isFull: merger.readyCount >= Self.batchLimit, inFlight: inFlight,
                amongMessages: traffic.isFlowing)
        else { return nil }
        guard begin <= .now else {
            planBatch(at: begin)
            return nil
        }
        return merger.takeReady(Self.batchLimit).inOrder
    }

    private func planBatch(at time: MonotonicTime) {
        guard restTimer == nil else { return }
        restTimer = Reactor.after(time - .now) { [self] in
            restTimer = nil
            beginBatches()
        }
    }

    private func submit(_ signals: [MergedSignal]) {
        inFlight += 1
        metrics.batches += 1
        guard let others else { return send(signals, borrowing: []) }
        Reactor.spawn { [self] in await borrow(of: others, signals) }
    }

    /// Asks for the settings of those who read: after the last of their signals has come, and anew each time that the batch is
    /// sent. What lies between the answer and the commit is bounded (`lock_timeout`).
    ///
    /// Whose settings are not known at the moment is neither shown as having read nor hidden: their signals are for later.
    private func borrow(of others: OtherShards, _ signals: [MergedSignal]) async {
        let readers = Set(signals.lazy.filter { $0.horizons.read > 0 }.map(\.key.user))
        let (settings, unknown) = await others.settings(of: readers)
        let isKnown: (MergedSignal) -> Bool = { $0.horizons.read == 0 || !unknown.contains($0.key.user) }
        let owned = abandonLost(signals.filter(isKnown))
        abandon(signals.filter { !isKnown($0) })
        if connection.isUp, !owned.isEmpty { return send(owned, borrowing: [settings]) }
        abandon(owned)
        inFlight -= 1
        beginBatches()
    }

    private func send(_ signals: [MergedSignal], borrowing borrowed: [[UInt8]]) {
        let begun = MonotonicTime.now
        let layout = SignalLayout(signals)
        let read = layout.conversationsRead(by: signals)
        var notePlace: Int?
        connection.submit {
            notePlace = HorizonStatements.add(
                signals, layout, borrowing: borrowed, to: &$0, isKnown: known.contains
            ) { [notes] batch in
                notes.begin(read, in: &batch)
            }
        } completion: { [self] outcome in
            inFlight -= 1
            pace.ended(begun: begun, at: .now)
            notes.end(read, outcome.rows(of: notePlace))
            finish(signals, layout, outcome)
        }
    }

    private func finish(_ signals: [MergedSignal], _ layout: SignalLayout, _ outcome: BatchOutcome) {
        switch outcome {
        case .committed(let rows):
            beginBatches()  // First: PostgreSQL works while the responses are encoded.
            respond(to: signals, AdvanceStatement.outcomes(rows[rows.count - 1], layout))
        case .failed(let error, _) where error.isRaceLost:
            retries.append(signals)
        case .failed(let error, _) where error.isFaultOfData:
            logFailure(error)
            isolateCulprit(signals)
        case .failed(let error, _), .unknown(let error):
            // No response is safe. The repetitions of these signals find out what was committed.
            logFailure(error)
            if case .unknown = outcome { announcer.doubt(signals) }
            abandon(signals)
        }
        beginBatches()
    }

    private func respond(to signals: [MergedSignal], _ outcomes: [SignalOutcome]) {
        for (signal, outcome) in zip(signals, outcomes) {
            switch outcome {
            case .refused(let problem):
                for request in signal.requests { bus.respond(to: request, problem) }
            case .reached(let horizons, let advance):
                known.insert(signal.key.conversation)
                merger.committed(signal.key, horizons)
                for request in signal.requests { bus.respond(to: request, status: 202) }
                if let advance { note(advance, of: signal.key) }
            }
        }
        announcer.announce(signals, outcomes)
    }

    private func note(_ advance: SignalOutcome.Advance, of key: HorizonKey) {
        metrics.advances += 1
        if let seq = advance.read { teller.tell(key, seq) }
        if advance.isSeen { completions.noteMovement(in: key.conversation, memberCount: advance.memberCount) }
    }

    /// Halves a batch that the database refuses until the culprit is alone. Only that one is refused.
    private func isolateCulprit(_ signals: [MergedSignal]) {
        guard signals.count > 1 else {
            let problem = Problem(.invalid, "the database refuses this request")
            for request in signals[0].requests { bus.respond(to: request, problem) }
            return
        }
        retries.append(contentsOf: signals.chunked(by: (signals.count + 1) / 2))
    }

    private func abandonWaiting() {
        for signals in retries { abandon(signals) }
        retries = []
        abandon(merger.takeAll(at: .now))
    }

    private func abandon(_ signals: [MergedSignal]) {
        for request in signals.lazy.flatMap(\.requests) { bus.abandon(request) }
    }

    private func logFailure(_ error: DatabaseError) {
        log.warning("batch failed", [LogField("reason", error.debugDescription)])
    }
}

/// Counts of the writer since the process started.
struct HorizonMetrics {
    var signals = 0
    var batches = 0
    var advances = 0
}

/// Conversations that are known to have a position, so that batches need not insert it. When full, all are forgotten.
private struct KnownConversations {
    private static let capacity = 65_536
    private var conversations: Set<ConversationID> = []
    /// A shortcut: the signals of a conversation come together.
    private var latest: ConversationID?

    func contains(_ conversation: ConversationID) -> Bool { conversations.contains(conversation) }

    mutating func insert(_ conversation: ConversationID) {
        guard conversation != latest else { return }
        latest = conversation
        if conversations.count == Self.capacity { conversations.removeAll(keepingCapacity: true) }
        conversations.insert(conversation)
    }
}

extension DatabaseError {
    /// Whether the same statement would always fail: a value that PostgreSQL cannot take, or a constraint (classes 22
    /// and 23).
    fileprivate var isFaultOfData: Bool { sqlState.category == "22" || sqlState.category == "23" }
}

extension BatchOutcome {
    /// Returns the rows of one statement of a committed batch.
    fileprivate func rows(of place: Int?) -> Rows? {
        guard case .committed(let rows) = self, let place else { return nil }
        return rows[place]
    }
}

extension [MergedSignal] {
    /// Sorts conversations by their keys, the order of locking. Their signals stay adjacent, by user.
    fileprivate var inOrder: [MergedSignal] {
        var starts: [Int] = []
        for index in indices where index == 0 || self[index].key.conversation != self[index - 1].key.conversation {
            starts.append(index)
        }
        let ends = starts.dropFirst() + [count]
        return zip(starts, ends).sorted { self[$0.0].key.conversation.uuid < self[$1.0].key.conversation.uuid }
            .flatMap { self[$0..<$1].sorted { $0.key.user < $1.key.user } }
    }
}

extension Array {
    fileprivate func chunked(by size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
