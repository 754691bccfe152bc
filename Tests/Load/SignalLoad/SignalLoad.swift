import Bus
import Glibc
import Models
import Reactor
import Wire

/// The readers, and what they see of the system.
@Reactor
final class SignalLoad {
    /// Between two rounds of signals at a given rate.
    private static let beat = Duration.milliseconds(2)

    private let plan: SignalPlan
    private let tables: ReceiptTables
    private let bus: Bus
    /// The last position each member was told to have read, by conversation and member.
    private var positions: [Int64]
    private var latencies: [Duration] = []
    private var failures = 0
    private var inFlight = 0
    private var frames = 0
    private var frameBytes = 0
    private var start = MonotonicTime.now
    private var seconds = 0.0
    private var usage: [(name: String, share: Double)] = []

    init(_ plan: SignalPlan, _ tables: ReceiptTables) throws {
        self.plan = plan
        self.tables = tables
        bus = try Bus(bind: "ipc://\(plan.run)/fanout-load\(getpid()).sock")
        try bus.follow(try Endpoint.parse(list: "ipc://\(plan.run)/receipt-*.sock"))
        positions = Array(repeating: 0, count: plan.conversations * plan.members)
        bus.onFrame = { [unowned self] frame in
            for entry in frame.entries {
                frames += 1
                frameBytes += entry.count
            }
        }
        for group in SlotGroup.all { bus.subscribe(.status(group)) }
    }

    func run() async throws {
        while await signal(0) != 202 { await Reactor.sleep(for: .milliseconds(100)) }
        try tables.begin()
        let meter = ProcessTimes(run: plan.run, backend: try tables.writerProcess())
        (frames, frameBytes) = (0, 0)
        start = .now
        if plan.rate > 0 { await readAtRate() } else { await readInClosedLoop() }
        seconds = (.now - start).milliseconds / 1000
        usage = meter.shares(of: seconds)
        while inFlight > 0 { await Reactor.sleep(for: .milliseconds(5)) }
    }

    // MARK: Reading

    private func readInClosedLoop() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<plan.inFlight { group.addTask { await self.readOn() } }
        }
    }

    private func readOn() async {
        while .now - start < plan.duration { await readOnce() }
    }

    /// Behind its schedule it goes on without making up for it: `failures` counts what was left out.
    private func readAtRate() async {
        var due = 0.0
        var last = MonotonicTime.now
        while .now - start < plan.duration {
            let now = MonotonicTime.now
            due += (now - last).milliseconds / 1000 * Double(plan.rate)
            last = now
            while due >= 1 {
                due -= 1
                if inFlight < plan.inFlight { Reactor.spawn { [self] in await readOnce() } } else { failures += 1 }
            }
            await Reactor.sleep(for: Self.beat)
        }
    }

    private func readOnce() async {
        let began = MonotonicTime.now
        inFlight += 1
        defer { inFlight -= 1 }
        if await signal(.random(in: 0..<positions.count)) == 202 {
            latencies.append(.now - began)
        } else {
            failures += 1
        }
    }

    private func signal(_ index: Int) async -> UInt16? {
        positions[index] += Int64(plan.step)
        let conversation = plan.conversation(index / plan.members)
        let signal = ReceiptSignal(
            conversation, user: plan.user(index % plan.members), delivered: 0, read: positions[index])
        let outcome = await bus.request(.signal, in: conversation.slot, deadline: .seconds(10)) {
            signal.write(to: &$0)
        }
        if case .response(let response) = outcome { return response.status }
        return nil
    }

    // MARK: Reporting

    func report() throws -> String {
        latencies.sort()
        let readings = Double(positions.reduce(0, +))
        let kept = try tables.end(readings: readings)
        let processes = usage.map { "\($0.name) \(Int($0.share * 100)) %" }.joined(separator: ", ")
        return """
            \(plan.conversations) groups of \(plan.members), \(plan.step) messages a reading, \
            \(plan.rate > 0 ? "\(plan.rate) signals/s" : "\(plan.inFlight) in flight"):
              absorbed        \(Int(Double(latencies.count) / seconds)) signals/s, p50 \(percentile(0.5)) ms, \
            p99 \(percentile(0.99)) ms, \(failures) not answered or left out
              rows written    \(kept.runs) runs, \(kept.horizons) horizons, for \(latencies.count) signals
              status          \(frames) frames, \(frameBytes) bytes
              storage         \(Int(kept.bytes * Double(plan.members) / readings)) bytes a message, \
            1/\(Int((kept.naiveBytes / kept.bytes).rounded(.down))) of a row per message and member (\(kept.naiveRow) bytes each)
              processors      \(processes)
            """
    }

    private func percentile(_ part: Double) -> Double {
        latencies.isEmpty ? 0 : latencies[Int(Double(latencies.count - 1) * part)].milliseconds
    }
}
