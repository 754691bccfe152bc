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
final class StoreService {
    let writer: Writer
    /// Commits read positions, erasures and the trimming of private streams. It has its own connection, so neither many
    /// readers nor the erasure of a user with years of data delays messages.
    let backgroundWriter: Writer
    /// Of imports: on the connection of background work, with a queue and a pace of its own.
    let importWriter: Writer
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

    init(_ configuration: StoreConfiguration, bus: Bus, log: Log) {
        let writing = Connection(configuration.writer), writingInBackground = Connection(configuration.writer)
        // Before anything else uses a new connection.
        clock = ChangeClock([writing, writingInBackground], log: log)
        self.bus = bus
        slots = OwnedSlots(bus, .store, connection: writing, schema: Schema.name, lockClass: Schema.slotLocks)
        queries = Queries(configuration, bus: bus, log: log)
        erasures = Erasures(bus: bus, slots: slots, connection: queries.connection, log: log)
        revocations = Revocations(bus: bus, slots: slots, connection: queries.connection, log: log)
        trimmer = StreamTrimmer(writingInBackground)
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
        writer = Writer(
            writing, bus: bus, outcomes: outcomes, conversationLimit: configuration.conversationLimit, log: log)
        outcomes.again = { [unowned writer] in writer.add($0) }
        writer.answersAttachments = configuration.answersAttachments
        scheduled.answersAttachments = configuration.answersAttachments
        backgroundWriter = Writer(
            writingInBackground, bus: bus, outcomes: outcomes, conversationLimit: configuration.conversationLimit,
            log: log)
        importWriter = Writer(
            writingInBackground, bus: bus, outcomes: outcomes, conversationLimit: configuration.conversationLimit,
            log: log)
        importWriter.pace = ImportPace()
        recentOutcomes = RecentOutcomes(backgroundWriter.connection, slots: slots)
        indexer = SearchIndexer(
            Connection(configuration.indexer), texts: queries.searching.texts, log: log,
            isWriterIdle: { [writer] in writer.isIdle },
            lastRead: { [queries] in queries.lastResponse })
        for writer in [writer, backgroundWriter, importWriter] {
            writer.owns = { [slots] in slots.contains($0) }
            writer.onCommit = { [indexer] in indexer.committed($0.locks.conversations, messages: $0.items.count) }
            writer.onDoubt = { [slots] in slots.doubt($0) }
        }
        for writer in [writer, backgroundWriter] {
            writer.notes = WorkNotes(
                SearchIndex.notes, writer: writer.connection, background: writingInBackground, slots: slots,
                isDone: indexer.isDone)
        }
        importWriter.notes = backgroundWriter.notes  // Of the connection that both write on.
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
        backgroundWriter.connection.open()
        queries.connection.open()
        queries.searching.connection.open()
        indexer.connection.open()
    }

    /// Stops accepting requests and waits for the responses to accepted ones.
    func finish() async {
        erasures.stop()
        lifetimes.stop()
        retention.stop()
        scheduled.stop()
        bus.onFrame = { _ in }
        while !writer.isIdle || !backgroundWriter.isIdle || !importWriter.isIdle || queries.inFlight > 0 {
            await Reactor.sleep(for: .milliseconds(5))
        }
    }

    /// Closes the connections for good. Requests in flight get no response.
    func closeConnections() {
        writer.connection.close()
        backgroundWriter.connection.close()
        queries.connection.close()
        queries.searching.connection.close()
        indexer.connection.close()
    }

    func addHealth(to health: Health) {
        health.require("writing connection") { [writer] in
            writer.connection.isUp ? nil : "not connected to the database"
        }
        health.require("background connection") { [backgroundWriter] in
            backgroundWriter.connection.isUp ? nil : "not connected to the database"
        }
        health.require("query connection") { [queries] in
            queries.connection.isUp ? nil : "not connected to the database"
        }
        health.require("search connection") { [queries] in
            queries.searching.connection.isUp ? nil : "not connected to the database"
        }
        health.require("indexing connection") { [indexer] in
            indexer.connection.isUp ? nil : "not connected to the database"
        }
        health.require("slots") { [slots] in slots.count > 0 ? nil : "owns no slot yet" }
    }

    func addMetrics(to metrics: Metrics) {
        metrics.counter("parley_store_batches_total", "Batches that ended") { [writer] in Double(writer.metrics.batches)
        }
        metrics.counter("parley_store_rows_total", "Messages in those batches") { [writer] in
            Double(writer.metrics.rows)
        }
        metrics.counter("parley_store_commit_seconds_total", "Time from sending a batch to its end, summed") {
            [writer] in
            writer.metrics.commitTime.milliseconds / 1000
        }
        metrics.counter("parley_store_races_lost_total", "Batches repeated after 40001 or 40P01") { [writer] in
            Double(writer.metrics.racesLost)
        }
        metrics.counter("parley_store_batches_halved_total", "Batches halved to find a refused row") { [writer] in
            Double(writer.metrics.batchesHalved)
        }
        metrics.counter("parley_store_queries_total", "Queries answered") { [queries] in Double(queries.answered) }
        metrics.counter("parley_store_entries_refused_total", "Entries of no known layout") { [slots] in
            Double(slots.refusedRequests)
        }
        metrics.counter("parley_store_read_positions_total", "Read positions in batches") { [backgroundWriter] in
            Double(backgroundWriter.metrics.rows)
        }
        metrics.counter("parley_store_texts_indexed_total", "Message texts put into the index of the search") {
            [indexer] in Double(indexer.indexed)
        }
        metrics.gauge("parley_store_index_waiting", "Conversations that moved and are not indexed yet") { [indexer] in
            Double(indexer.waitingCount)
        }
        metrics.gauge("parley_store_index_lag_seconds", "How long the one that waits longest for the index has") {
            [indexer] in indexer.lag.milliseconds / 1000
        }
        metrics.counter("parley_store_backlog_searched_total", "Conversations looked at for the index at takeovers") {
            [indexer] in Double(indexer.looked)
        }
        metrics.gauge("parley_store_slots", "Slots owned") { [slots] in Double(slots.count) }
        metrics.counter("parley_store_sessions_ended_total", "Sessions of silent stores that this one ended") {
            [slots] in
            Double(slots.endedSessions)
        }
        metrics.gauge("parley_store_rows_waiting", "Rows waiting for a batch") { [writer] in Double(writer.waiting.rows)
        }
        metrics.gauge("parley_store_bytes_waiting", "Bytes of frames kept for commands that wait for a batch") {
            [writer, backgroundWriter, importWriter] in
            Double(writer.waiting.bytes + backgroundWriter.waiting.bytes + importWriter.waiting.bytes)
        }
        metrics.gauge("parley_store_erasures", "Erasures of users under way") { [erasures] in
            Double(erasures.underWay)
        }
        metrics.counter("parley_store_media_released_total", "Messages whose lost attachments media was told of") {
            [releases] in Double(releases.acknowledged)
        }
        metrics.counter("parley_store_messages_expired_total", "Messages deleted because their time was over") {
            [lifetimes] in Double(lifetimes.expired)
        }
        metrics.counter("parley_store_messages_removed_total", "Messages removed because they are kept no longer") {
            [retention] in Double(retention.removed)
        }
        metrics.counter("parley_store_scheduled_sent_total", "Scheduled messages that were sent at their time") {
            [scheduled] in Double(scheduled.sent)
        }
        metrics.counter(
            "parley_store_scheduled_failed_total", "Scheduled messages that might not be sent at their time"
        ) {
            [scheduled] in Double(scheduled.failed)
        }
        metrics.gauge("parley_store_scheduled_lag_seconds", "How long the scheduled message that waits longest is due")
        {
            [scheduled] in Double(scheduled.lag) / 1000
        }
        metrics.gauge(
            "parley_store_profiles_waiting", "Users whose changed profiles open clients are yet to be told of"
        ) {
            [profiles] in Double(profiles.waitingCount)
        }
        metrics.counter("parley_store_profiles_untold_total", "Changes of profiles that open clients were not told of")
        {
            [profiles] in Double(profiles.dropped)
        }
        metrics.gauge("parley_store_query_turns_waiting", "Queries that wait for their turn at a connection") {
            [queries] in Double(queries.connection.waitingCount)
        }
        metrics.counter("parley_store_private_changes_trimmed_total", "Old changes removed from private streams") {
            [trimmer] in Double(trimmer.trimmed)
        }
        metrics.gauge(
            "parley_store_clock_difference_seconds", "How far the database's clock is ahead of this machine's"
        ) { [clock] in Double(clock.difference ?? 0) / 1000 }
        metrics.gauge("parley_store_queries_in_flight", "Queries in flight") { [queries] in Double(queries.inFlight) }
    }

    private func writer(of command: Command) -> Writer {
        if command.isImport { return importWriter }
        return command.isBackgroundWork ? backgroundWriter : writer
    }

    private func receive(_ frame: InboundFrame) {
        guard case .command = frame.topic else { return }
        slots.forEachRequest(in: frame) { (entry, request, bytes) throws(WireError) in
            try receive(entry, request, in: frame, bytes)
        }
    }

    private func receive(
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
