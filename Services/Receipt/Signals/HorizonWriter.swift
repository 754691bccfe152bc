import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Commits signals in batches, by back-pressure: what is ready while the batches before are on their way forms the next.
@Reactor
final class HorizonWriter {
    /// Signals in one batch.
    static let batchLimit = 1_000
    /// Two: PostgreSQL has its next batch while this process encodes the answers of the last one.
    static let batchesInFlight = 2

    private(set) var metrics = HorizonMetrics()
    private let connection: Connection
    private let bus: Bus
    private let announcer: StatusAnnouncer
    private let teller: ReadTeller
    private let completions: CompletionKeeper
    private let log: Log
    private var merger: SignalMerger
    private var known = KnownConversations()
    /// Batches to be sent again as they are.
    private var retries: [[MergedSignal]] = []
    private var inFlight = 0
    private var isKickPlanned = false
    private var windowTimer: TimerID?

    init(
        _ connection: Connection, bus: Bus, announcer: StatusAnnouncer, teller: ReadTeller,
        completions: CompletionKeeper, window: Duration, log: Log
    ) {
        self.connection = connection
        self.bus = bus
        self.announcer = announcer
        self.teller = teller
        self.completions = completions
        self.log = log
        merger = SignalMerger(window: window)
        connection.onUp { [unowned self] in kick() }
        connection.onLoss { [unowned self] _ in abandonWaiting() }
    }

    var isIdle: Bool { inFlight == 0 && merger.isEmpty && retries.isEmpty }
    var waitingCount: Int { merger.readyCount }

    /// Takes a signal; its request is answered when the database has it.
    func add(_ signal: ReceiptSignal, _ request: RequestKey) {
        metrics.signals += 1
        let merged = MergedSignal(
            key: HorizonKey(conversation: signal.conversation, user: signal.user),
            horizons: Horizons(delivered: signal.delivered, read: signal.read), requests: [request])
        switch merger.add(merged, at: .now) {
        case .alreadyCommitted: bus.answer(request, status: 202)
        case .accepted: planKick()
        }
        planClosing()
    }

    /// Ends every window now: for the end of the process.
    func hasten() {
        retries.append(contentsOf: merger.takeAll().byConversation.chunked(by: Self.batchLimit))
        kick()
    }

    // MARK: Timing

    private func planKick() {
        guard !isKickPlanned else { return }
        isKickPlanned = true
        Reactor.atEndOfTurn { [self] in
            isKickPlanned = false
            kick()
        }
    }

    private func planClosing() {
        guard windowTimer == nil, let end = merger.nextEnd else { return }
        windowTimer = Reactor.after(end - .now) { [self] in
            windowTimer = nil
            merger.closeWindows(at: .now)
            kick()
            planClosing()
        }
    }

    // MARK: Batches

    private func kick() {
        while connection.isUp, inFlight < Self.batchesInFlight, let signals = nextBatch() { submit(signals) }
    }

    private func nextBatch() -> [MergedSignal]? {
        if !retries.isEmpty { return retries.removeFirst() }
        guard merger.readyCount > 0 else { return nil }
        return merger.takeReady(Self.batchLimit).byConversation
    }

    private func submit(_ signals: [MergedSignal]) {
        inFlight += 1
        metrics.batches += 1
        connection.submit {
            HorizonStatements.add(signals, to: &$0, isKnown: known.contains)
        } completion: { [self] outcome in
            inFlight -= 1
            finish(signals, outcome)
        }
    }

    private func finish(_ signals: [MergedSignal], _ outcome: BatchOutcome) {
        switch outcome {
        case .committed(let rows):
            kick()  // First: PostgreSQL works while the answers are encoded.
            answer(signals, HorizonStatements.outcomes(rows))
        case .failed(let error, _) where error.isRaceLost:
            retries.append(signals)
        case .failed(let error, _) where error.isFaultOfData:
            logFailure(error)
            isolateCulprit(signals)
        case .failed(let error, _), .unknown(let error):
            // Nobody may be told anything. The repetitions of these signals find out what was committed.
            logFailure(error)
            if case .unknown = outcome { announcer.doubt(signals) }
            abandon(signals)
        }
        kick()
    }

    private func answer(_ signals: [MergedSignal], _ outcomes: [SignalOutcome]) {
        for (signal, outcome) in zip(signals, outcomes) {
            switch outcome {
            case .refused(let problem):
                for request in signal.requests { bus.answer(request, problem) }
            case .reached(let horizons, let advance):
                known.insert(signal.key.conversation)
                merger.committed(signal.key, horizons)
                for request in signal.requests { bus.answer(request, status: 202) }
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

    /// Halves a batch that the database refuses until the culprit stands alone; only that one is refused.
    private func isolateCulprit(_ signals: [MergedSignal]) {
        guard signals.count > 1 else {
            let problem = Problem(.invalid, "the database refuses this request")
            for request in signals[0].requests { bus.answer(request, problem) }
            return
        }
        retries.append(contentsOf: signals.chunked(by: (signals.count + 1) / 2))
    }

    private func abandonWaiting() {
        for signals in retries { abandon(signals) }
        retries = []
        abandon(merger.takeAll())
    }

    private func abandon(_ signals: [MergedSignal]) {
        for request in signals.lazy.flatMap(\.requests) { bus.abandon(request) }
    }

    private func logFailure(_ error: DatabaseError) {
        log.warning("batch failed", [LogField("reason", error.debugDescription)])
    }
}

/// What the writer did since the process started.
struct HorizonMetrics {
    var signals = 0
    var batches = 0
    var advances = 0
}

/// Conversations that are known to have a position: batches need not look for it. Bounded by forgetting all.
private struct KnownConversations {
    private static let capacity = 65_536
    private var conversations: Set<ConversationID> = []
    /// Signals of a conversation come together.
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
    /// Whether the same statement would fail for ever: a value that PostgreSQL cannot take, or a constraint (classes 22
    /// and 23).
    fileprivate var isFaultOfData: Bool { sqlState.category == "22" || sqlState.category == "23" }
}

extension [MergedSignal] {
    /// Signals of a conversation stand together: they share a status frame.
    fileprivate var byConversation: [MergedSignal] {
        sorted { left, right in
            left.key.conversation == right.key.conversation
                ? left.key.user < right.key.user : left.key.conversation.uuid < right.key.conversation.uuid
        }
    }
}

extension Array {
    fileprivate func chunked(by size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
