import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport
import ServiceKit

/// Sends messages to conversations and receives their acknowledgements.
///
/// Closed loop: every lane keeps a number of messages in flight, or all lanes share that number and take turns. Open
/// loop: messages are due at fixed times, and the lanes take turns. A message that finds every lane full waits here,
/// and its latency counts from when it was due.
@Reactor
final class MessageTraffic: LoadConnectionOwner {
    enum Pace: Sendable, Equatable {
        /// The number of messages in flight per lane.
        case inFlight(Int)
        /// The number of messages in flight in all lanes together.
        case inFlightInAll(Int)
        /// The number of messages per second in all lanes together.
        case rate(Int)

        var isClosedLoop: Bool { if case .rate = self { false } else { true } }
    }

    /// A sender in a conversation.
    struct Lane {
        let conversation: LoadConversation
        let template: SendTemplate
        /// One connection for all of its messages if they are pipelined, otherwise one for each in flight.
        let connections: [LoadConnection]
        fileprivate let limit: Int
        fileprivate var inFlight = 0

        init(_ conversation: LoadConversation, _ template: SendTemplate, _ connections: [LoadConnection], limit: Int) {
            self.conversation = conversation
            self.template = template
            self.connections = connections
            self.limit = limit
        }
    }

    private let run: Int
    private let pace: Pace
    private let meter: LoadMeter
    private var lanes: [Lane] = []
    private var nextLane = 0
    private var isRunning = false
    private var repeats = RepeatQueue()
    private var lastTimeoutCheck = MonotonicTime.now
    private(set) var inFlight = 0
    private(set) var repetitions = 0
    private(set) var failures = MismatchList()

    /// Closed loop: lanes by conversation whose acknowledged message has not arrived everywhere yet. Nil when arrivals
    /// are not waited for.
    private var parked: [[(lane: Int, connection: LoadConnection)]]?

    // For the open loop and for lanes that take turns.
    private var pacer: Pacer?
    private var schedule = ArrivalSchedule(start: .now, perSecond: 1)
    private var released = 0
    private var begun = 0

    /// Converts the monotonic clock to milliseconds since 1970, for the ids.
    private let epochMilliseconds =
        UInt64(max(0, Timestamp.now.milliseconds)) &- MonotonicTime.now.nanoseconds / 1_000_000

    private static let pause = Duration.milliseconds(100)
    private static let timeout = Duration.seconds(30)
    /// The limit of failures. Beyond it something is permanently wrong, and the run only gets worse.
    private static let mostFailures = 1000

    init(run: Int, pace: Pace, meter: LoadMeter) {
        self.run = run
        self.pace = pace
        self.meter = meter
    }

    func add(_ lane: Lane) { lanes.append(lane) }

    /// Counts messages as in flight until all members have them. Acknowledgements come from the store and do not slow
    /// senders to the pace of fanout.
    func waitForArrivals(in conversations: Int) { parked = Array(repeating: [], count: conversations) }

    func id(of number: Int, in conversation: LoadConversation, due: MonotonicTime) -> MessageID {
        MessageNumber(run: run, conversation: conversation.number, number: number)
            .id(milliseconds: due.nanoseconds / 1_000_000 &+ epochMilliseconds)
    }

    // MARK: Start and end

    func start() {
        isRunning = true
        switch pace {
        case .inFlight:
            for lane in lanes.indices {
                for slot in 0..<lanes[lane].limit { sendNew(lane, due: .now, over: connection(of: lane, slot)) }
            }
        case .inFlightInAll(let count):
            released = count
            sendReleased()
        case .rate(let rate):
            schedule = ArrivalSchedule(start: .now, perSecond: Double(rate))
            pacer = Pacer(rate: rate) { [unowned self] _ in
                released += 1
                sendReleased()
            }
        }
        tick()
    }

    /// Stops sending new messages. Those in flight are waited for and repeated where needed.
    func stop() {
        isRunning = false
        pacer?.stop()
    }

    /// Waits until nothing is in flight or the time is over.
    func drain(within limit: Duration) async {
        let start = MonotonicTime.now
        while inFlight > 0, MonotonicTime.now - start < limit { await Reactor.sleep(for: .milliseconds(5)) }
        if inFlight > 0 { failures.add("\(inFlight) messages were never acknowledged") }
        inFlight = 0
    }

    private func tick() {
        Reactor.after(.milliseconds(20)) { [self] in
            guard isRunning || inFlight > 0 else { return }
            for request in repeats.takeDue(at: .now) {
                send(request, over: connection(of: request.work, request.number))
            }
            if MonotonicTime.now - lastTimeoutCheck > .seconds(1) { checkTimeouts() }
            tick()
        }
    }

    private func checkTimeouts() {
        lastTimeoutCheck = .now
        for lane in lanes { lane.connections.forEach { $0.checkTimeout(Self.timeout) } }
    }

    // MARK: Sending

    private func connection(of lane: Int, _ slot: Int) -> LoadConnection {
        lanes[lane].connections[slot % lanes[lane].connections.count]
    }

    private func sendNew(_ lane: Int, due: MonotonicTime, over connection: LoadConnection) {
        inFlight += 1
        lanes[lane].inFlight += 1
        let number = lanes[lane].conversation.takeNumber()
        send(Outstanding(work: lane, number: number, due: due), over: connection)
    }

    private func send(_ request: Outstanding, over connection: LoadConnection) {
        let lane = lanes[request.work]
        let id = id(of: request.number, in: lane.conversation, due: request.due)
        connection.send(request) { lane.template.write(id, due: request.due, to: &$0) }
    }

    /// Sends as many due messages as the lanes have room for, in order of their times.
    private func sendReleased() {
        while isRunning, begun < released, let lane = takeLane() {
            begun += 1
            let due = pace.isClosedLoop ? .now : schedule.time(of: begun - 1)
            sendNew(lane, due: due, over: idlest(lanes[lane].connections))
        }
    }

    /// Takes the next lane with room.
    private func takeLane() -> Int? {
        for step in lanes.indices {
            let lane = (nextLane + step) % lanes.count
            guard lanes[lane].inFlight < lanes[lane].limit else { continue }
            nextLane = (lane + 1) % lanes.count
            return lane
        }
        return nil
    }

    private func idlest(_ connections: [LoadConnection]) -> LoadConnection {
        connections.count == 1 ? connections[0] : connections.min { $0.inFlight < $1.inFlight }!
    }

    // MARK: Responses

    func answered(_ request: Outstanding, _ response: Response, on connection: LoadConnection) {
        switch response.status {
        case 200, 201: acknowledge(request, response)
        case let status where Reply.isTemporary(status):
            return again(request, after: response.retryAfter ?? Self.pause)
        default: fail(request, "status \(response.status) \(problemDetail(response.body))")
        }
        finish(request.work, over: connection)
    }

    func lost(_ request: Outstanding, on _: LoadConnection) { again(request, after: Self.pause) }

    private func acknowledge(_ request: Outstanding, _ response: Response) {
        let conversation = lanes[request.work].conversation
        guard let message = AcknowledgedMessage(fast: response.body),
            message.id == id(of: request.number, in: conversation, due: request.due)
        else { return fail(request, "acknowledged as another message") }
        let now = MonotonicTime.now
        conversation.acknowledge(request.number, seq: message.seq, at: now)
        meter.acknowledged(dueAt: request.due, at: now)
    }

    private func fail(_ request: Outstanding, _ what: String) {
        failures.add("message \(request.number) of conversation \(lanes[request.work].conversation.id): \(what)")
        if failures.count >= Self.mostFailures { stop() }
    }

    private func again(_ request: Outstanding, after pause: Duration) {
        repetitions += 1
        repeats.add(request, at: .now + pause)
    }

    private func finish(_ lane: Int, over connection: LoadConnection) {
        inFlight -= 1
        lanes[lane].inFlight -= 1
        guard isRunning else { return }
        switch pace {
        case .rate: sendReleased()
        case .inFlightInAll:
            released += 1
            sendReleased()
        case .inFlight where parked != nil:
            let conversation = lanes[lane].conversation
            parked?[conversation.number].append((lane, connection))
            arrived(in: conversation)
        case .inFlight: sendNew(lane, due: .now, over: connection)
        }
    }

    /// Handles an arrival. As many lanes continue as messages have arrived everywhere.
    func arrived(in conversation: LoadConversation) {
        while isRunning, let waiting = parked?[conversation.number].count, waiting > 0,
            (waiting - 1) * conversation.members.count >= conversation.undelivered,
            let (lane, connection) = parked?[conversation.number].popLast()
        {
            sendNew(lane, due: .now, over: connection)
        }
    }
}
