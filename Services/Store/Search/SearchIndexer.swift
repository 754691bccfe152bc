import Models
import Postgres
import Reactor
import ServiceKit
import Slots

/// Indexes message texts after their writes, in batches, on its own connection.
///
/// A visit to a conversation costs as much as eight texts, so texts wait until some have gathered: ten seconds, or until a
/// conversation has many. Senders and readers come first. While messages are written or read, it takes small batches, and
/// rests after each for three times its duration: a quarter of a core at most.
/// Under a write load that takes the whole machine, it rests fifteen times the duration. When a text has waited for
/// half a minute despite that, it rests one or three times the duration. When the store is otherwise idle, it works
/// without a pause.
///
/// Its progress is in the database, so another store can continue there. Memory holds only the conversations that have
/// changed since.
@Reactor
final class SearchIndexer {
    /// The time to collect further writes before a batch.
    private static let pause = Duration.milliseconds(50)
    /// The store is quiet when nothing was committed or answered for this long.
    private static let quiet = Duration.milliseconds(250)
    /// The time that a text may wait for quiet and for others of its conversation, and the time it may be delayed by long
    /// rests.
    private static let patience = Duration.seconds(10)
    /// The number of a conversation's texts, about, that do not wait for others.
    private static let enough = 1_024
    private static let patienceWithRests = Duration.seconds(30)
    private static let restFactor = (usual: 3, late: 1)
    private static let restFactorInCrowd = (usual: 15, late: 3)
    /// The number of messages in a batch that indicates a crowd. A batch is what arrives while earlier ones are
    /// committed.
    private static let crowd = 64
    private static let pauseAfterFailure = Duration.seconds(1)
    /// The number of positions of one batch, over all of its conversations.
    private static let batchPositions = 1_024
    private static let batchConversations = 64
    /// What one of a batch's transactions takes while messages are written: for so long an edit there has to wait.
    private static let transactionPositionsAmongWrites = 256
    private static let transactionConversationsAmongWrites = 16
    private static let backlogPage = 1_000
    /// The number of blocks that get their filters in one step.
    private static let filterBlocks = 64

    let connection: Connection
    private let texts: TextTurns
    private let isWriterIdle: @Reactor () -> Bool
    private let lastRead: @Reactor () -> MonotonicTime
    private let log: Log
    private var waiting = UnindexedConversations(enough: SearchIndexer.enough)
    private var takenOver: Set<Slot> = []
    /// The notes of unindexed work, and the epochs of the owned slots. Without notes, a takeover searches everything.
    private var notes: WorkNotes?
    private var epochs: @Reactor (Set<Slot>) -> [Slot: Int64] = { _ in [:] }
    /// The conversations that are being indexed.
    private var underWay: Set<ConversationID> = []
    /// The number of conversations that takeovers had to examine.
    private(set) var looked = 0
    private var lastCommit = MonotonicTime.now
    /// The largest of the latest batches. It decays slowly because some batches in a crowd are small, too.
    private var batchSize = 0
    /// The slots in which blocks may lack their filters. Making these is a separate step, with a rest before it.
    private var unfiltered: Set<Slot> = []
    /// Whether filters come before texts, so that neither waits for ever.
    private var takesFilters = false
    private var isPlanned = false
    private var isWorking = false
    private(set) var indexed = 0

    /// - Parameters:
    ///   - texts: shared with the searches.
    ///   - lastRead: the time when a query was last answered.
    init(
        _ connection: Connection, texts: TextTurns, log: Log, isWriterIdle: @escaping @Reactor () -> Bool,
        lastRead: @escaping @Reactor () -> MonotonicTime
    ) {
        self.connection = connection
        self.texts = texts
        self.log = log
        self.isWriterIdle = isWriterIdle
        self.lastRead = lastRead
        connection.onUp { [unowned self] in plan() }
    }

    /// Makes takeovers use `notes` from now on.
    func follow(_ notes: WorkNotes, epochs: @escaping @Reactor (Set<Slot>) -> [Slot: Int64]) {
        self.notes = notes
        self.epochs = epochs
    }

    /// Whether everything committed in a conversation is indexed.
    func isDone(_ conversation: ConversationID) -> Bool {
        !waiting.contains(conversation) && !underWay.contains(conversation)
    }

    /// The number of conversations with texts that may not be indexed yet.
    var waitingCount: Int { waiting.count }

    /// The wait of the conversation that has waited longest.
    var lag: Duration { waiting.oldest.map { .now - $0 } ?? .zero }

    /// Records that a commit added this many messages to these conversations.
    func committed(_ conversations: some Collection<ConversationID>, messages: Int) {
        lastCommit = .now
        batchSize = max(messages, batchSize - (batchSize + 3) / 4)
        note(conversations, texts: messages / max(1, conversations.count))
    }

    private func note(
        _ conversations: some Sequence<ConversationID>, since: MonotonicTime = .now, texts: Int = 1
    ) {
        for conversation in conversations { waiting.add(conversation, since: since, texts: max(1, texts)) }
        plan()
    }

    /// Looks for everything that the former owner of a newly acquired slot left unindexed.
    func takeOver(_ slot: Slot) {
        takenOver.insert(slot)
        unfiltered.insert(slot)
        plan()
    }

    // MARK: Schedule

    private func plan(after delay: Duration = pause) {
        guard !isPlanned, !isWorking else { return }
        isPlanned = true
        Reactor.after(delay) { [weak self] in
            self?.isPlanned = false
            self?.begin()
        }
    }

    private var isQuiet: Bool { isWriterIdle() && .now - max(lastCommit, lastRead()) >= Self.quiet }

    private func begin() {
        guard connection.isUp, !isIdle else { return }
        guard isQuiet || areTextsDue || !takenOver.isEmpty || !unfiltered.isEmpty else { return plan() }
        isWorking = true
        Reactor.spawn { [self] in
            let start = MonotonicTime.now
            let isDone = await work()
            isWorking = false
            plan(after: isDone ? rest(after: .now - start) : Self.pauseAfterFailure)
        }
    }

    private var isIdle: Bool { waiting.isEmpty && takenOver.isEmpty && unfiltered.isEmpty }

    private var areTextsDue: Bool { waiting.hasEnough || lag > Self.patience }

    private func rest(after work: Duration) -> Duration {
        if isIdle { return Self.pause }
        if isQuiet { return .zero }
        let factor = batchSize < Self.crowd ? Self.restFactor : Self.restFactorInCrowd
        return work * (lag > Self.patienceWithRests ? factor.late : factor.usual)
    }

    // MARK: Work

    /// Does one step. Returns false when the database failed.
    private func work() async -> Bool {
        let since = waiting.oldest ?? .now
        let isQuiet = isQuiet
        let takesTexts = isQuiet || areTextsDue && !takesFilters
        let conversations = takesTexts ? waiting.take(Self.batchConversations) : []
        underWay = Set(conversations)
        defer { underWay = [] }
        do throws(DatabaseError) {
            if !takenOver.isEmpty { try await findBacklog() }
            if conversations.isEmpty { try await makeFilters() } else { try await index(conversations, since, isQuiet) }
            takesFilters = !conversations.isEmpty && !unfiltered.isEmpty
            return true
        } catch {
            if connection.isUp { log.warning("indexing failed", [LogField("reason", error.debugDescription)]) }
            note(conversations, since: since)
            return false
        }
    }

    private func findBacklog() async throws(DatabaseError) {
        let slots = takenOver
        if let notes {
            let owned = epochs(slots)
            try await notes.search(
                owned, on: connection,
                noted: { (conversations) in
                    looked += conversations.count
                    note(conversations)
                },
                everything: { (slots) async throws(DatabaseError) in try await findEverything(in: slots, notes) })
        } else {
            try await findEverything(in: slots, nil)
        }
        takenOver.subtract(slots)
    }

    /// Examines the progress of all conversations.
    private func findEverything(in slots: Set<Slot>, _ notes: WorkNotes?) async throws(DatabaseError) {
        var after = ConversationID(.zero)
        while true {
            let rows = try await connection.query(SearchIndex.backlog) { parameters, input in
                parameters.set(input.slots, to: slots)
                parameters.set(input.after, to: after)
                parameters.set(input.limit, to: Int64(Self.backlogPage))
            }
            let found = rows.map { $0[SearchIndex.backlog.columns.id] }
            try await notes?.keep(found)
            looked += found.count
            note(found)
            guard rows.count == Self.backlogPage, let last = found.last else { break }
            after = last
        }
    }

    /// Indexes one batch. The part of a conversation that does not fit keeps its waiting time.
    private func index(
        _ conversations: [ConversationID], _ since: MonotonicTime, _ isQuiet: Bool
    ) async throws(DatabaseError) {
        let rows = try await connection.query(SearchIndex.unindexed) { parameters, input in
            let limit = isQuiet ? Self.batchPositions : Self.transactionPositionsAmongWrites
            let positions = min(limit, Self.batchPositions / conversations.count)
            SearchIndex.set(conversations, positionsOfEach: positions, of: input, in: &parameters)
        }
        defer { extendLifetime(rows) }  // The texts lie in them.
        for portions in transactions(of: SearchIndex.portions(rows), isQuiet) {
            let chunks = await chunks(portions)
            let results = try await connection.transaction { SearchIndex.add(portions, chunks, to: &$0) }
            let added = SearchIndex.added(results[results.count - 1])
            let isLeft = { (portion: SearchIndex.Portion) in
                portion.through < portion.lastSeq || !added.contains(portion.conversation)
            }
            note(portions.lazy.filter(isLeft).map(\.conversation), since: since)
            indexed += chunks.reduce(0) { $0 + $1.texts.count }
            unfiltered.formUnion(portions.lazy.filter { !$0.changed.isEmpty }.map(\.conversation.slot))
        }
    }

    private func chunks(_ portions: [SearchIndex.Portion]) async -> [SearchChunk] {
        var chunks: [SearchChunk] = []
        var piece = TextTurns.Piece()
        for portion in portions { chunks += await SearchChunk.chunks(portion, in: texts, &piece) }
        return chunks
    }

    private func transactions(of portions: [SearchIndex.Portion], _ isQuiet: Bool) -> [[SearchIndex.Portion]] {
        if isQuiet { return portions.isEmpty ? [] : [portions] }
        var transactions: [[SearchIndex.Portion]] = []
        var room = (conversations: 0, positions: 0)
        for portion in portions {
            room.conversations -= 1
            room.positions -= portion.texts.count
            if room.conversations < 0 || room.positions < 0 {
                transactions.append([])
                room.conversations = Self.transactionConversationsAmongWrites - 1
                room.positions = Self.transactionPositionsAmongWrites - portion.texts.count
            }
            transactions[transactions.count - 1].append(portion)
        }
        return transactions
    }

    /// Makes filters for some blocks that have none.
    private func makeFilters() async throws(DatabaseError) {
        let slots = unfiltered
        guard !slots.isEmpty else { return }
        let blocks = try await connection.query(SearchIndex.unfiltered) { parameters, input in
            parameters.set(input.slots, to: slots)
            parameters.set(input.limit, to: Int64(Self.filterBlocks))
        }
        defer { extendLifetime(blocks) }  // The texts lie in them.
        if blocks.count < Self.filterBlocks { unfiltered.subtract(slots) }
        guard !blocks.isEmpty else { return }
        let filters = await filters(of: blocks)
        _ = try await connection.transaction { SearchIndex.addFilters(filters, to: blocks, in: &$0) }
    }

    private func filters(of blocks: Rows) async -> [TextFilter] {
        var filters: [TextFilter] = []
        var piece = TextTurns.Piece()
        for block in blocks {
            let text = block[SearchIndex.unfiltered.columns.texts]
            await texts.take(text.count, into: &piece)
            var filter = TextFilter()
            filter.add(FoldedText(text))
            filters.append(filter)
        }
        return filters
    }
}
