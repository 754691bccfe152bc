import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Receives commands and queries for the slots that this store owns, and passes them to the writer and the queries.
@Reactor
final class StoreService: ShardService {
    let writer: Writer
    /// Commits read positions, erasures and the trimming of private streams. It has its own connection, so neither many
    /// readers nor the erasure of a user with years of data delays messages.
    let backgroundWriter: Writer
    /// Of imports: on the connection of background work, with a queue and a pace of its own.
    let importWriter: Writer
    /// Of a shard on Citus: commit what needs the rows of users in other shards, each on a connection of its own, so that neither
    /// waits behind what is committed here alone. Imports are written like `borrowingInBackground`, and so is what is of many
    /// people: to borrow the rows of a thousand takes a second or more, and nobody is to wait for that.
    let borrowing: Writer?
    let borrowingInBackground: Writer?
    let queries: Queries
    let indexer: SearchIndexer
    let slots: OwnedSlots
    let erasures: Erasures
    let recentOutcomes: RecentOutcomes
    let trimmer: StreamTrimmer
    let revocations: Revocations
    let releases: MediaReleases
    let profiles: ProfileAnnouncer
    let lifetimes: Lifetimes
    let retention: Retention
    let scheduled: ScheduledSending
    let clock: ChangeClock
    private let bus: Bus
    /// Whether its connections are to be up.
    private(set) var isOpen = false

    /// - Parameter shardSlots: the slots of a shard on Citus; nil: the writing connection holds its slots itself.
    init(_ configuration: StoreConfiguration, bus: Bus, log: Log, shardSlots: OwnedSlots? = nil) {
        let writing = Connection(configuration.writer), writingInBackground = Connection(configuration.writer)
        let borrowers = shardSlots == nil ? [] : (0..<2).map { _ in Connection(configuration.borrower) }
        // Before anything else uses a new connection.
        clock = ChangeClock([writing, writingInBackground] + borrowers, log: log)
        self.bus = bus
        slots =
            shardSlots
            ?? OwnedSlots(bus, .store, connection: writing, schema: Schema.name, lockClass: Schema.slotLocks)
        queries = Queries(configuration, bus: bus, log: log)
        erasures = Erasures(bus: bus, slots: slots, connection: queries.connection, log: log)
        revocations = Revocations(bus: bus, slots: slots, connection: queries.connection, log: log)
        trimmer = StreamTrimmer(writingInBackground)
        if let shardSlots { trimmer.reaches = { [unowned shardSlots] in shardSlots.contains($0) } }
        releases = MediaReleases(bus: bus, slots: slots, connection: writingInBackground, log: log)
        profiles = ProfileAnnouncer(bus: bus, connection: queries.connection, log: log)
        lifetimes = Lifetimes(bus: bus, slots: slots, connection: queries.connection, log: log)
        retention = Retention(
            bus: bus, slots: slots, connection: queries.connection, days: configuration.retention, log: log)
        scheduled = ScheduledSending(bus: bus, slots: slots, connection: queries.connection, log: log)
        let outcomes = CommandOutcomes(
            bus: bus, announcer: Announcer(bus: bus, slots: slots, trimmer: trimmer, log: log), queries: queries,
            erasures: erasures, revocations: revocations, releases: releases, profiles: profiles,
            lifetimes: lifetimes, retention: retention, scheduled: scheduled)
        func makeWriter(_ connection: Connection) -> Writer {
            let writer = Writer(
                connection, bus: bus, outcomes: outcomes, conversationLimit: configuration.conversationLimit, log: log)
            writer.answersAttachments = configuration.answersAttachments
            writer.borrows = borrowers.contains { $0 === connection }
            return writer
        }
        scheduled.answersAttachments = configuration.answersAttachments
        writer = makeWriter(writing)
        backgroundWriter = makeWriter(writingInBackground)
        borrowing = borrowers.first.map(makeWriter)
        borrowingInBackground = borrowers.last.map(makeWriter)
        importWriter = makeWriter(borrowers.last ?? writingInBackground)
        importWriter.pace = ImportPace()
        let deciding = borrowing ?? writer
        outcomes.again = { [unowned deciding] in deciding.add($0) }
        recentOutcomes = RecentOutcomes(backgroundWriter.connection, slots: slots)
        indexer = SearchIndexer(
            Connection(configuration.indexer), texts: queries.searching.texts, log: log,
            isWriterIdle: { [writer] in writer.isIdle },
            lastRead: { [queries] in queries.lastResponse })
        for writer in writers {
            writer.owns = { [slots] in slots.contains($0) }
            writer.onCommit = { [indexer] in indexer.committed($0.locks.conversations, messages: $0.items.count) }
            writer.onDoubt = { [slots] in slots.doubt($0) }
        }
        for writer in writers where writer !== importWriter {
            writer.notes = WorkNotes(
                SearchIndex.notes, writer: writer.connection, background: writingInBackground, slots: slots,
                isDone: indexer.isDone)
        }
        importWriter.notes = (borrowingInBackground ?? backgroundWriter).notes  // Of the connection that both write on.
        if let notes = writer.notes { indexer.follow(notes, epochs: slots.epochs) }
        slots.onAcquired { [indexer] in indexer.takeOver($0) }
        slots.onDoubt { [indexer] in indexer.takeOver($0) }
        slots.onEndedSession = { log.warning("ended the session of a silent store", [LogField("pid", $0)]) }
    }

    func start() {
        FoldedScalar.prepare()
        bus.onFrame = { [self] frame in receive(frame) }
        // The writer's connection acquires slots, so it opens only after their queries can be answered.
        queries.connection.onUp { [writer] in writer.connection.open() }
        openOthers()
    }

    var writers: [Writer] {
        [writer, backgroundWriter, importWriter, borrowing, borrowingInBackground].compactMap { $0 }
    }

    /// All but the first one's.
    private var furtherWriting: [Connection] {
        [backgroundWriter, borrowing, borrowingInBackground].compactMap { $0?.connection }
    }

    /// All but those that borrow, which open when they are needed.
    private func openOthers() {
        isOpen = true
        backgroundWriter.connection.open()
        queries.connection.open()
        queries.searching.connection.open()
        indexer.connection.open()
    }

    /// Stops accepting requests and waits for the responses to accepted ones.
    func finish() async {
        bus.onFrame = { _ in }
        await finishAccepted()
    }

    /// The same where another one receives (`ShardedStore`).
    func finishAccepted() async {
        erasures.stop()
        lifetimes.stop()
        retention.stop()
        scheduled.stop()
        while !writers.allSatisfy(\.isIdle) || queries.inFlight > 0 {
            await Reactor.sleep(for: .milliseconds(5))
        }
    }

    /// Closes the connections for good. Requests in flight get no response.
    func closeConnections() {
        writer.connection.close()
        for connection in furtherWriting { connection.close() }
        queries.connection.close()
        queries.searching.connection.close()
        indexer.connection.close()
    }

    // MARK: Shards (`ServedShard`)

    /// All connections, each with what it is for.
    var connections: [(Connection, ShardGuard.Use)] {
        ([writer.connection, indexer.connection] + furtherWriting).map { ($0, .writing) }
            + (queries.connection.connections + queries.searching.connection.connections).map { ($0, .reading) }
    }

    var isReady: Bool { writer.connection.isUp && queries.connection.isUp }

    /// Opens all connections, whoever holds the slots.
    func open() {
        writer.connection.open()
        openOthers()
    }

    /// Ends all sessions until `open`. Requests in flight get no response.
    func rest() {
        isOpen = false
        writer.connection.rest()
        for connection in furtherWriting { connection.rest() }
        queries.connection.rest()
        queries.searching.connection.rest()
        indexer.connection.rest()
    }

    private func writer(of command: Command) -> Writer {
        if command.isImport { return importWriter }
        if let borrowing, let borrowingInBackground, !command.isOfOneSlot {
            return command.isBackgroundWork || command.isOfMany ? borrowingInBackground : borrowing
        }
        return command.isBackgroundWork ? backgroundWriter : writer
    }

    private func receive(_ frame: InboundFrame) {
        guard case .command = frame.topic else { return }
        slots.forEachRequest(in: frame) { (entry, request, bytes) throws(WireError) in
            try receive(entry, request, in: frame, bytes)
        }
    }

    /// Takes one request of an owned slot.
    func receive(
        _ entry: RequestEntry, _ request: RequestKey, in frame: InboundFrame, _ bytes: UnsafeRawBufferPointer
    ) throws(WireError) {
        let kind = try StoreRequestKind(of: entry, from: frame.sender)
        if kind.isCommand {
            let command = try Command(entry, kind: kind, request: request, frame: frame.slice(bytes))
            if !command.isImport { importWriter.pace?.noteOthers(at: .now) }
            begin(request) { writer(of: command).add(command) }
        } else {
            var reader = ByteReader(entry.fields)
            let query = try queries.decode(kind, &reader)
            importWriter.pace?.noteOthers(at: .now)
            begin(request) { queries.respond(to: request, query) }
        }
    }

    /// Begins a request unless it repeats one in flight. `body` returns whether there was room for it.
    private func begin(_ request: RequestKey, _ body: () -> Bool) {
        bus.begin(request) {
            if !body() { bus.respond(to: request, Problem(.overloaded, "too many requests are in flight")) }
        }
    }
}
