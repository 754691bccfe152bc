import Bus
import Glibc
import Models
import Postgres
import Reactor
import Wire

/// Measures `receipt`: members of many groups read on, message by message, with a number of signals in flight.
///
///     PARLEY_DATABASE_URL=… PARLEY_BUS_RECEIPT=ipc:///…/receipt-0.sock \
///         swift run -c release SignalLoad BIND [conversations] [members of each] [in flight] [seconds]
///
/// BIND is the endpoint at which a receipt service expects `fanout`. The conversations are written into the tables of
/// `store` directly; use a database that can be thrown away.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, let url = getenv("PARLEY_DATABASE_URL"), let receipts = getenv("PARLEY_BUS_RECEIPT")
        else { return print("see the top of Tests/Load/SignalLoad/Main.swift") }
        let given = arguments.dropFirst(2).compactMap { Int($0) }
        let numbers = given + [1000, 10, 1000, 5].dropFirst(given.count)
        let plan = SignalPlan(
            bind: arguments[1], receipts: String(cString: receipts), conversations: numbers[0], members: numbers[1],
            inFlight: numbers[2], duration: .seconds(numbers[3]))
        try plan.seed(BlockingConnection(url: String(cString: url), applicationName: "signal-load"))
        Reactor.spawn {
            do { try await SignalLoad(plan).run() } catch { print("failed: \(error)") }
            exit(0)
        }
        Reactor.run()
    }
}

struct SignalPlan {
    let bind: String
    let receipts: String
    let conversations: Int
    let members: Int
    let inFlight: Int
    let duration: Duration

    private static let lastSeq = 1_000_000

    func conversation(_ number: Int) -> ConversationID {
        ConversationID(UUIDBytes(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)))
    }

    func user(_ number: Int) -> UserID { UserID("member\(number)")! }

    /// Groups of the same members, with a million messages each, as far as receipt can tell.
    func seed(_ database: BlockingConnection) throws {
        try database.execute(
            "TRUNCATE store.conversations, store.memberships, receipt.positions, receipt.horizons, receipt.receipt_runs"
        )
        let ids = "unnest($1) AS id"
        _ = try database.query(
            """
            INSERT INTO store.conversations
            SELECT get_byte(uuid_send(id), 15), id, 1, NULL, 'member0', now(), \(Self.lastSeq), now(), \(members)
            FROM \(ids)
            """, addConversations)
        _ = try database.query(
            """
            INSERT INTO store.memberships
            SELECT get_byte(uuid_send(id), 15), id, 'member' || number, 1, NULL, 1
            FROM \(ids), generate_series(0, \(members - 1)) AS number
            """, addConversations)
        try database.execute("VACUUM ANALYZE store.conversations")
        try database.execute("VACUUM ANALYZE store.memberships")
    }

    private func addConversations(to parameters: inout Parameters) {
        parameters.addArray(of: .uuid)
        for number in 0..<conversations { parameters.append(conversation(number)) }
    }
}

@Reactor
final class SignalLoad {
    private let plan: SignalPlan
    private let bus: Bus
    /// The last position each member was told to have read, by conversation and member.
    private var positions: [Int64]
    private var latencies: [Duration] = []
    private var failures = 0
    private var frames = 0
    private var start = MonotonicTime.now

    init(_ plan: SignalPlan) throws {
        self.plan = plan
        bus = try Bus(bind: plan.bind)
        try bus.follow(try Endpoint.parse(list: plan.receipts))
        positions = Array(repeating: 0, count: plan.conversations * plan.members)
        bus.onFrame = { [unowned self] frame in frames += frame.entries.reduce(0) { count, _ in count + 1 } }
        for group in SlotGroup.all { bus.subscribe(.status(group)) }
    }

    func run() async throws {
        while await signal(0) != 202 { await Reactor.sleep(for: .milliseconds(100)) }
        start = .now
        frames = 0
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<plan.inFlight { group.addTask { await self.reader() } }
        }
        report()
    }

    private func reader() async {
        while .now - start < plan.duration {
            let began = MonotonicTime.now
            if await signal(.random(in: 0..<positions.count)) == 202 {
                latencies.append(.now - began)
            } else {
                failures += 1
            }
        }
    }

    private func signal(_ index: Int) async -> UInt16? {
        positions[index] += 1
        let conversation = plan.conversation(index / plan.members)
        let signal = ReceiptSignal(
            conversation, user: plan.user(index % plan.members), delivered: 0, read: positions[index])
        let outcome = await bus.request(.signal, in: conversation.slot, deadline: .seconds(10)) {
            signal.write(to: &$0)
        }
        if case .answered(let answer) = outcome { return answer.status }
        return nil
    }

    private func report() {
        latencies.sort()
        let seconds = (.now - start).milliseconds / 1000
        print(
            """
            \(plan.conversations) groups of \(plan.members), \(plan.inFlight) in flight: \
            \(Int(Double(latencies.count) / seconds)) signals/s, p50 \(percentile(0.5)) ms, p99 \(percentile(0.99)) ms, \
            \(frames) status frames, \(failures) failures
            """)
    }

    private func percentile(_ part: Double) -> Double {
        latencies.isEmpty ? 0 : latencies[Int(Double(latencies.count - 1) * part)].milliseconds
    }
}
