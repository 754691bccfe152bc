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
final class ReceiptService: ShardService {
    let slots: OwnedSlots
    let writer: HorizonWriter
    let queries: StatusQueries
    private let lastSeen: LastSeenKeeper
    private let writing: Connection
    let teller: ReadTeller
    let search: UntoldSearch
    let notes: WorkNotes
    let completions: CompletionKeeper
    let retention: ReceiptRetention
    private let announcer: StatusAnnouncer
    private let erasure: ReceiptErasure
    private let imports: ReceiptImports
    let traffic: MessageTraffic
    let clock: ChangeClock
    private let bus: Bus
    /// Whether its connections are to be up.
    private(set) var isOpen = false

    /// - Parameters:
    ///   - shardSlots: the slots of a shard on Citus; nil: the writing connection holds its slots itself.
    ///   - others: on Citus, where rows of other shards are asked for.
    init(
        _ configuration: ReceiptConfiguration, bus: Bus, log: Log, shardSlots: OwnedSlots? = nil,
        traffic: MessageTraffic = MessageTraffic(), others: OtherShards? = nil
    ) {
        self.bus = bus
        self.traffic = traffic
        writing = Connection(configuration.writer)
        // First, before anything else uses a new connection.
        clock = ChangeClock([writing], log: log)
        slots =
            shardSlots
            ?? OwnedSlots(bus, .receipt, connection: writing, schema: Schema.name, lockClass: Schema.slotLocks)
        announcer = StatusAnnouncer(bus: bus, slots: slots)
        teller = ReadTeller(bus: bus, traffic: traffic)
        let background = Connection(configuration.background)
        completions = CompletionKeeper(background, log: log)
        retention = ReceiptRetention(background, slots: slots, log: log)
        notes = WorkNotes(
            UntoldStatements.notes, writer: writing, background: writing, slots: slots, isDone: teller.isTold)
        teller.onDropped = { [notes] in notes.hold($0) }
        writer = HorizonWriter(
            writing, bus: bus, announcer: announcer, teller: teller, completions: completions, notes: notes,
            traffic: traffic, window: configuration.window, log: log)
        writer.owns = { [slots] in slots.contains($0) }
        writer.others = others
        queries = StatusQueries(Connection(configuration.queries), bus: bus, log: log)
        lastSeen = LastSeenKeeper(
            writing: writing, reading: queries.connection, bus: bus, log: log, others: others)
        search = UntoldSearch(queries.connection, slots: slots, notes: notes, teller, log: log, others: others)
        slots.onAcquired { [search] in search.look(in: $0) }
        slots.onDoubt { [search] in search.look(in: $0) }
        slots.onEndedSession = { log.warning("ended the session of a silent receipt service", [LogField("pid", $0)]) }
        Reactor.every(.seconds(5)) { [weak search] in search?.checkDropped() }
        erasure = ReceiptErasure(writing, bus: bus, log: log, others: others)
        imports = ReceiptImports(writing, bus: bus, traffic: traffic, log: log, others: others)
    }

    func start() {
        bus.onFrame = { [self] frame in receive(frame) }
        traffic.follow(bus)
        open()
    }

    /// Stops taking requests, and waits for the responses to those in flight.
    func finish() async {
        bus.onFrame = { _ in }
        await finishAccepted()
    }

    /// The same where another one receives (`ShardedReceipt`).
    func finishAccepted() async {
        writer.finish()
        retention.stop()
        while !writer.isIdle || !imports.isIdle || queries.responder.inFlight > 0 || lastSeen.responder.inFlight > 0 {
            await Reactor.sleep(for: .milliseconds(5))
        }
        teller.finish()
    }

    // MARK: Shards (`ServedShard`)

    var connections: [(Connection, ShardGuard.Use)] {
        [(writing, .writing), (completions.connection, .writing), (queries.connection, .reading)]
    }

    var isWritingUp: Bool { writing.isUp }
    var isReady: Bool { writing.isUp && queries.connection.isUp }

    func open() {
        isOpen = true
        for (connection, _) in connections { connection.open() }
    }

    func rest() {
        isOpen = false
        for (connection, _) in connections { connection.rest() }
    }

    /// Ends both connections for good. Signals in flight get no response.
    func closeConnections() {
        writing.close()
        queries.connection.close()
        completions.connection.close()
    }

    // MARK: Metrics

    var imported: Int { imports.stored }
    var statusFrames: Int { announcer.announced }

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

    /// Takes one request of an owned slot.
    func receive(_ entry: RequestEntry, _ request: RequestKey, from sender: Role?) throws(WireError) {
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
        case .peers:
            let query = try PeersQuery(from: &reader)
            bus.begin(request) { lastSeen.respond(to: request, query) }
        case .seenPeers:
            let query = try SeenUsers(from: &reader)
            bus.begin(request) { lastSeen.respond(to: request, query) }
        case .forgetSeen:
            let query = try LastSeenQuery(from: &reader)
            bus.begin(request) { lastSeen.forget(query.user, request) }
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
}
