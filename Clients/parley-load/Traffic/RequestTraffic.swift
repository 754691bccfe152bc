import Bytes
import CommandSupport
import Reactor
import ReactorTransport

/// Sends the same kind of request repeatedly over its own connections, and checks every response.
@Reactor
final class RequestTraffic: LoadConnectionOwner {
    /// Writes the request with this number.
    typealias Write = @Reactor (_ number: Int, _ host: Endpoint, _ buffer: inout ByteBuffer) -> Void
    /// Returns what is wrong with the response, or nil.
    typealias Check = @Reactor (_ number: Int, _ response: Response) -> String?

    private let pace: MessageTraffic.Pace
    private let meter: LoadMeter
    private let write: Write
    private let check: Check
    private var connections: [LoadConnection] = []
    private var pacer: Pacer?
    private var begun = 0
    private var isRunning = false
    private var repeats = RepeatQueue()
    private var nextConnection = 0
    private(set) var inFlight = 0
    private(set) var repetitions = 0
    private(set) var failures = MismatchList()

    private static let pause = Duration.milliseconds(100)

    /// - Parameter pace: in a closed loop, the number of requests per connection.
    init(
        _ endpoints: [Endpoint], connections count: Int, pace: MessageTraffic.Pace, meter: LoadMeter,
        write: @escaping Write, check: @escaping Check
    ) {
        self.pace = pace
        self.meter = meter
        self.write = write
        self.check = check
        connections = (0..<count).map { LoadConnection(endpoints[$0 % endpoints.count], owner: self) }
    }

    func start() {
        isRunning = true
        switch pace {
        case .inFlight(let depth):
            for connection in connections {
                for _ in 0..<depth { sendNew(due: .now, over: connection) }
            }
        case .inFlightInAll(let count):
            for _ in 0..<count { sendNew(due: .now, over: takeConnection()) }
        case .rate(let rate):
            pacer = Pacer(rate: rate) { [unowned self] due in sendNew(due: due, over: takeConnection()) }
        }
        tick()
    }

    /// Stops, and waits for the requests in flight.
    func stop(within limit: Duration = .seconds(30)) async {
        isRunning = false
        pacer?.stop()
        let start = MonotonicTime.now
        while inFlight > 0, MonotonicTime.now - start < limit { await Reactor.sleep(for: .milliseconds(5)) }
        if inFlight > 0 { failures.add("\(inFlight) requests were never answered") }
        connections.forEach { $0.close() }
    }

    private func tick() {
        Reactor.after(.milliseconds(20)) { [self] in
            guard isRunning || inFlight > 0 else { return }
            for request in repeats.takeDue(at: .now) { send(request, over: takeConnection()) }
            tick()
        }
    }

    private func takeConnection() -> LoadConnection {
        nextConnection = (nextConnection + 1) % connections.count
        return connections[nextConnection]
    }

    private func sendNew(due: MonotonicTime, over connection: LoadConnection) {
        inFlight += 1
        begun += 1
        send(Outstanding(work: 0, number: begun - 1, due: due), over: connection)
    }

    private func send(_ request: Outstanding, over connection: LoadConnection) {
        connection.send(request) { write(request.number, connection.endpoint, &$0) }
    }

    func answered(_ request: Outstanding, _ response: Response, on connection: LoadConnection) {
        if Reply.isTemporary(response.status) { return again(request, after: response.retryAfter ?? Self.pause) }
        if let wrong = check(request.number, response) { failures.add("request \(request.number): \(wrong)") }
        meter.answered(dueAt: request.due, at: .now)
        inFlight -= 1
        if isRunning, pace.isClosedLoop { sendNew(due: .now, over: connection) }
    }

    func lost(_ request: Outstanding, on _: LoadConnection) { again(request, after: Self.pause) }

    private func again(_ request: Outstanding, after pause: Duration) {
        repetitions += 1
        repeats.add(request, at: .now + pause)
    }
}
