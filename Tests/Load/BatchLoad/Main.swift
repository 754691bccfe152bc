import Glibc
import Models
import Postgres
import Reactor

/// Measures `Connection`: inserts rows of four columns in batches, as a store does, and prints the rate.
///
///     PARLEY_DATABASE_URL=… swift run -c release BatchLoad [rows per batch] [batches in flight] [seconds]
@main
enum Main {
    static func main() throws {
        guard let url = getenv("PARLEY_DATABASE_URL") else { return print("PARLEY_DATABASE_URL must be set") }
        let given = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let numbers = given + [200, 2, 5].dropFirst(given.count)
        let load = LoadPlan(
            url: String(cString: url), rows: numbers[0], depth: numbers[1], duration: .seconds(numbers[2]))
        try BlockingConnection(url: load.url, applicationName: "batch-load").execute(
            """
            DROP TABLE IF EXISTS batch_load;
            CREATE TABLE batch_load (slot smallint, id uuid PRIMARY KEY, body text, at timestamptz)
            """)
        Reactor.spawn { BatchLoad.run(load) }
        Reactor.run()
    }
}

struct LoadPlan {
    let url: String
    let rows: Int
    let depth: Int
    let duration: Duration
}

@Reactor
final class BatchLoad {
    private static let insert = Statement(
        "insert", parameters: [.array(.int2), .array(.uuid), .array(.text), .array(.timestamptz)],
        "INSERT INTO batch_load SELECT * FROM unnest($1, $2, $3, $4)")
    private static let text = Array(repeating: UInt8(ascii: "x"), count: 120)
    private static var running: BatchLoad?

    private let plan: LoadPlan
    private let connection: Connection
    private let start = MonotonicTime.now
    private let startCPU = clock()
    private var nextID: UInt64 = 0
    private var inFlight = 0
    private var committedRows = 0

    static func run(_ plan: LoadPlan) {
        let connection = Connection(
            ConnectionConfiguration(url: plan.url, applicationName: "batch-load", statements: [insert]))
        connection.onUp {
            running = BatchLoad(plan, connection)
            running?.submitAll()
        }
        connection.open()
    }

    private init(_ plan: LoadPlan, _ connection: Connection) {
        self.plan = plan
        self.connection = connection
    }

    private func submitAll() {
        while inFlight < plan.depth, .now - start < plan.duration { submit() }
        if inFlight == 0 { report() }
    }

    private func submit() {
        inFlight += 1
        let ids = nextID..<nextID + UInt64(plan.rows)
        nextID = ids.upperBound
        connection.submit {
            $0.execute(Self.insert) { Self.add(ids, to: &$0) }
        } completion: { [self] outcome in
            guard case .committed(let rows) = outcome else { fatalError("\(outcome)") }
            inFlight -= 1
            committedRows += rows[0].affectedCount
            submitAll()
        }
    }

    private static func add(_ ids: Range<UInt64>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for id in ids { parameters.append(Slot(UInt8(truncatingIfNeeded: id))) }
        parameters.addArray(of: .uuid)
        for id in ids { parameters.append(UUIDBytes(high: id, low: id)) }
        parameters.addArray(of: .text)
        text.withUnsafeBytes { text in for _ in ids { parameters.append(text) } }
        parameters.addArray(of: .timestamptz)
        for id in ids { parameters.append(Timestamp(milliseconds: Int64(id))) }
    }

    private func report() {
        let seconds = (.now - start).milliseconds / 1000
        let microsecondsOfCPU = Double(clock() - startCPU) / Double(committedRows)
        let rate = Int(Double(committedRows) / seconds)
        print(
            "\(plan.rows) rows a batch, \(plan.depth) in flight: \(rate) rows/s, \(microsecondsOfCPU) µs of CPU a row")
        exit(0)
    }
}
