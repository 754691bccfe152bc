import Bus
import Bytes
import Glibc
import Models
import Reactor
import Wire

/// Measures the bus alone: changes of 250 bytes go over a unix socket, as from store to fanout, so many in each
/// turn, and it prints how many a second came through. Both ends are in this one process, which pays for both.
///
///     swift run -c release BusLoad [changes in each turn] [seconds]
@main
enum Main {
    static func main() {
        let given = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let numbers = given + [64, 2].dropFirst(given.count)
        Reactor.spawn {
            do { try await BusLoad(perTurn: numbers[0]).run(for: .seconds(numbers[1])) } catch {
                print("failed: \(error)")
            }
            exit(0)
        }
        Reactor.run()
    }
}

@Reactor
final class BusLoad {
    private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 250)
    /// Well below where ZeroMQ drops frames.
    private static let mostAhead = 4096

    private let perTurn: Int
    private let paths = ["store", "fanout"].map { "/tmp/parley-bus-load-\(getpid())-\($0).sock" }
    private let store: Bus
    private let fanout: Bus
    private var sent = 0
    private var received = 0
    private var frames = 0
    private var isRunning = true
    private var isPlanned = false

    init(perTurn: Int) throws {
        self.perTurn = perTurn
        store = try Bus(bind: "ipc://\(paths[0])")
        fanout = try Bus(bind: "ipc://\(paths[1])")
        for group in SlotGroup.all { fanout.subscribe(.change(group)) }
        fanout.onFrame = { [unowned self] frame in
            frames += 1
            for _ in frame.entries { received += 1 }
            publishNextTurn()
        }
        try fanout.follow(try Endpoint.parse(list: "ipc://\(paths[0])"))
    }

    func run(for duration: Duration) async throws {
        while received == 0 {  // Until the subscription has travelled.
            sent = 0
            publish()
            await Reactor.sleep(for: .milliseconds(20))
        }
        let (start, before, framesBefore) = (MonotonicTime.now, received, frames)
        await Reactor.sleep(for: duration)
        let seconds = (MonotonicTime.now - start).milliseconds / 1000
        let count = Double(received - before)
        isRunning = false
        for path in paths { unlink(path) }
        print("\(Int(count / seconds)) changes/s, \(Int(Double(frames - framesBefore) / seconds)) frames/s")
    }

    private func publishNextTurn() {
        guard !isPlanned else { return }
        isPlanned = true
        Reactor.atEndOfTurn { [self] in
            isPlanned = false
            publish()
        }
    }

    /// One turn's, over all groups.
    private func publish() {
        guard isRunning, sent - received < Self.mostAhead else { return }
        for number in 0..<perTurn {
            store.append(to: .change(SlotGroup.all[(sent + number) % SlotGroup.all.count])) { $0.append(Self.body) }
        }
        sent += perTurn
    }
}
