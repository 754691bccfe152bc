import Bus
import Bytes
import Models
import Reactor
import Wire

/// Reports to the store how far users have read, for the private streams of their other devices. A report is repeated
/// until it gets a response.
@Reactor
final class ReadTeller {
    private static let deadline = Duration.seconds(10)

    private(set) var announced = 0
    private(set) var dropped = 0
    /// Called for each conversation of which a position was dropped.
    var onDropped: @Reactor (ConversationID) -> Void = { _ in }
    private let bus: Bus
    private let traffic: MessageTraffic
    private var reads = UntoldReads()
    private var slotsUnderWay: Set<Slot> = []
    private var isFlushPlanned = false
    private var timer: (id: TimerID, time: MonotonicTime)?

    init(bus: Bus, traffic: MessageTraffic) {
        self.bus = bus
        self.traffic = traffic
    }

    /// The number of positions that gather, wait, are in flight or rest.
    var count: Int { reads.count }

    /// Reports a committed position. If there is no room for it, it is dropped, and the search that must follow finds
    /// it again.
    func tell(_ key: HorizonKey, _ seq: Int64) {
        if reads.add(key, seq, at: .now) { return planAdvance() }
        dropped += 1
        onDropped(key.conversation)
    }

    /// Reports what has gathered now, at the end of the process. Nothing depends on it: the next owner of the slots finds
    /// what was not reported by the notes, but takes longer.
    func finish() {
        reads.endGathering()
        flush()
    }

    /// Whether everything known here of a conversation was reported.
    func isTold(_ conversation: ConversationID) -> Bool { reads.isTold(conversation) }

    private func planFlush() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        Reactor.atEndOfTurn { [self] in
            isFlushPlanned = false
            flush()
        }
    }

    /// Sends one request per slot at a time. Positions that arrive meanwhile go with the next.
    private func flush() {
        for slot in reads.readySlots where !slotsUnderWay.contains(slot) {
            send(reads.takeReady(slot, limit: ReadPositions.limit), in: slot)
        }
    }

    private func send(_ positions: [(key: HorizonKey, seq: Int64)], in slot: Slot) {
        slotsUnderWay.insert(slot)
        let request = ReadPositions(positions.map { .init($0.key.user, $0.key.conversation, readSeq: $0.seq) })
        let fields: (inout ByteBuffer) -> Void = { request.write(to: &$0) }
        bus.request(.readMoved, in: slot, deadline: Self.deadline, fields: fields) { [weak self] outcome in
            self?.finish(positions.map(\.key), in: slot, outcome)
        }
    }

    private func finish(_ keys: [HorizonKey], in slot: Slot, _ outcome: RequestOutcome) {
        slotsUnderWay.remove(slot)
        let isTold = outcome.isFinal
        if isTold { announced += keys.count }
        reads.rest(keys, isTold: isTold, at: .now)
        planAdvance()
        planFlush()
    }

    /// Plans for the next end of a rest or of the gathering, which may be earlier than the one planned for.
    private func planAdvance() {
        guard let end = reads.nextEnd else { return }
        if let timer {
            guard end < timer.time else { return }
            Reactor.cancel(timer.id)
        }
        let id = Reactor.after(end - .now) { [self] in
            timer = nil
            reads.interval = traffic.isFlowing ? UntoldReads.intervalAmongMessages : UntoldReads.shortestInterval
            reads.advance(to: .now)
            planFlush()
            planAdvance()
        }
        timer = (id, end)
    }
}

extension RequestOutcome {
    /// Whether no repetition is needed. A permanent refusal is final too.
    fileprivate var isFinal: Bool {
        if case .response(let response) = self { response.status < 500 } else { false }
    }
}
