import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Takes signals and queries for the slots that this service owns from the bus, and passes them to the writer and the
/// queries.
@Reactor
final class ReceiptService {
    let slots: OwnedSlots
    let writer: HorizonWriter
    let queries: StatusQueries
    private let lastSeen: LastSeenKeeper
    private let writing: Connection
    let teller: ReadTeller
    let search: UntoldSearch
    let notes: WorkNotes
    let completions: CompletionKeeper
    private let announcer: StatusAnnouncer
    private let erasure: ReceiptErasure
    private let imports: ReceiptImports
    let traffic = MessageTraffic()
    let clock: ChangeClock
    private let bus: Bus

    init(_ configuration: ReceiptConfiguration, bus: Bus, log: Log) {
        self.bus = bus
        writing = Connection(configuration.writer)
        // First, before anything else uses a new connection.
        clock = ChangeClock([writing], log: log)
        slots = OwnedSlots(bus, .receipt, connection: writing, schema: Schema.name, lockClass: Schema.slotLocks)
        announcer = StatusAnnouncer(bus: bus, slots: slots)
        teller = ReadTeller(bus: bus, traffic: traffic)
        completions = CompletionKeeper(Connection(configuration.completions), log: log)
        notes = WorkNotes(
            UntoldStatements.notes, writer: writing, background: writing, slots: slots, isDone: teller.isTold)
        teller.onDropped = { [notes] in notes.hold($0) }
        writer = HorizonWriter(
            writing, bus: bus, announcer: announcer, teller: teller, completions: completions, notes: notes,
            traffic: traffic, window: configuration.window, log: log)
        writer.owns = { [slots] in slots.contains($0) }
        queries = StatusQueries(Connection(configuration.queries), bus: bus, log: log)
        lastSeen = LastSeenKeeper(writing: writing, reading: queries.connection, bus: bus, log: log)
        search = UntoldSearch(queries.connection, slots: slots, notes: notes, teller, log: log)
        slots.onAcquired { [search] in search.look(in: $0) }
        slots.onDoubt { [search] in search.look(in: $0) }
        slots.onEndedSession = { log.warning("ended the session of a silent receipt service", [LogField("pid", $0)]) }
        Reactor.every(.seconds(5)) { [weak search] in search?.checkDropped() }
        erasure = ReceiptErasure(writing, bus: bus, log: log)
        imports = ReceiptImports(writing, bus: bus, traffic: traffic, log: log)
    }

    func start() {
        bus.onFrame = { [self] frame in receive(frame) }
        traffic.follow(bus)
        writing.open()
        queries.connection.open()
        completions.connection.open()
    }

    /// Stops taking requests, and waits for the responses to those in flight.
    func finish() async {
        bus.onFrame = { _ in }
        writer.hasten()
        while !writer.isIdle || !imports.isIdle || queries.responder.inFlight > 0 || lastSeen.responder.inFlight > 0 {
            await Reactor.sleep(for: .milliseconds(5))
        }
        teller.hasten()
    }

    /// Ends both connections for good. Signals in flight get no response.
    func closeConnections() {
        writing.close()
        queries.connection.close()
        completions.connection.close()
    }

    // MARK: Requests

    private func receive(_ frame: InboundFrame) {
        switch frame.topic {
        case .receiptCommand: receiveRequests(frame)
        case .digest: traffic.receive(frame)
        default: break
        }
    }

    private func receiveRequests(_ frame: InboundFrame) {
        slots.forEachRequest(in: frame) { (entry, request, _) throws(WireError) in
            try receive(entry, request, from: frame.sender)
        }
    }

    private func receive(_ entry: RequestEntry, _ request: RequestKey, from sender: Role?) throws(WireError) {
        var reader = ByteReader(entry.fields)
        switch try ReceiptRequestKind(of: entry, from: sender) {
        case .signal:
            let signal = try ReceiptSignal(from: &reader)
            bus.begin(request) { take(signal, request) }
        case .importReceipts:
            let receipts = try ImportReceipts(from: &reader)
            bus.begin(request) { imports.store(receipts, request) }
        case .dropReceipts:
            let receipts = try DropReceipts(from: &reader)
            bus.begin(request) { imports.drop(receipts, request) }
        case .erase:
            let receipts = try EraseReceipts(from: &reader)
            bus.begin(request) { erasure.respond(to: request, receipts) }
        case .seen:
            let seen = try SeenUsers(from: &reader)
            bus.begin(request) { lastSeen.keep(seen, request) }
        case .lastSeen:
            let query = try LastSeenQuery(from: &reader)
            bus.begin(request) { lastSeen.respond(to: request, query) }
        case .status:
            let query = try StatusQuery(from: &reader)
            bus.begin(request) { queries.respond(to: request, query) }
        case .positions:
            let query = try StreamPositions(from: &reader)
            bus.begin(request) { queries.respond(to: request, query, in: entry.slot) }
        }
    }

    private func take(_ signal: ReceiptSignal, _ request: RequestKey) {
        guard signal.delivered >= 0, signal.read >= 0 else {
            return bus.respond(to: request, Problem(.invalid, "deliveredSeq and readSeq must not be negative"))
        }
        writer.add(signal, request)
    }

    // MARK: Operation

    func addHealth(to health: Health) {
        health.require("writing connection") { [writing] in writing.isUp ? nil : "not connected to the database" }
        health.require("query connection") { [queries] in
            queries.connection.isUp ? nil : "not connected to the database"
        }
        health.require("slots") { [slots] in slots.count > 0 ? nil : "owns no slot yet" }
    }

    func addMetrics(to metrics: Metrics) {
        metrics.counter("parley_receipt_signals_total", "Signals taken") { [writer] in Double(writer.metrics.signals) }
        metrics.counter("parley_receipt_batches_total", "Batches sent") { [writer] in Double(writer.metrics.batches) }
        metrics.counter("parley_receipt_advances_total", "Signals that moved a horizon") { [writer] in
            Double(writer.metrics.advances)
        }
        metrics.counter("parley_receipt_imported_total", "Receipts of imports that moved a horizon") { [imports] in
            Double(imports.stored)
        }
        metrics.counter("parley_receipt_status_frames_total", "Status frames published") { [announcer] in
            Double(announcer.announced)
        }
        metrics.counter("parley_receipt_reads_announced_total", "Read positions announced to their users' devices") {
            [teller] in
            Double(teller.announced)
        }
        metrics.counter("parley_receipt_reads_searched_total", "Read positions found unannounced by a search") {
            [search] in
            Double(search.found)
        }
        metrics.counter("parley_receipt_completions_total", "Dates kept of messages that everybody has, or has read") {
            [completions] in Double(completions.rangesKept)
        }
        metrics.counter("parley_receipt_horizons_searched_total", "Horizons looked at in searches") { [search] in
            Double(search.looked)
        }
        metrics.counter("parley_receipt_notes_total", "Conversations noted as not announced completely") { [notes] in
            Double(notes.written)
        }
        metrics.gauge(
            "parley_receipt_reads_unannounced", "Read positions that wait to be announced, or were a moment ago"
        ) {
            [teller] in Double(teller.count)
        }
        metrics.counter("parley_receipt_queries_total", "Queries answered") { [queries] in
            Double(queries.responder.given)
        }
        metrics.counter("parley_receipt_entries_refused_total", "Entries of no known layout") { [slots] in
            Double(slots.refusedRequests)
        }
        metrics.gauge("parley_receipt_slots", "Slots owned") { [slots] in Double(slots.count) }
        metrics.counter(
            "parley_receipt_sessions_ended_total", "Sessions of silent receipt services that this one ended"
        ) { [slots] in Double(slots.endedSessions) }
        metrics.gauge("parley_receipt_signals_waiting", "Signals ready for a batch") { [writer] in
            Double(writer.waitingCount)
        }
    }
}
