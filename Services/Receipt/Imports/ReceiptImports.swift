import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Stores the receipts of imports, and takes away those of imports that are dropped. One request is in flight at a time,
/// so that signals, which use the same connection, wait for one of them at most. Among messages they rest as signals do
/// (`BatchPace`); a request is a batch of its own, so nothing gathers.
@Reactor
final class ReceiptImports {
    /// Rows taken away at a time: some tens of milliseconds.
    nonisolated static let rowsPerStep = 5_000
    /// Requests that wait. One more is refused as overload, and is made again.
    private static let capacity = 64

    private enum Work {
        case store(ImportReceipts)
        case drop(DropReceipts)
    }

    private let connection: Connection
    private let bus: Bus
    private let traffic: MessageTraffic
    private let log: Log
    private let others: OtherShards?
    private var pace = BatchPace()
    private var waiting = FIFO<(request: RequestKey, work: Work, since: MonotonicTime)>()
    private var isBusy = false
    private var restTimer: TimerID?
    private(set) var stored = 0

    init(_ connection: Connection, bus: Bus, traffic: MessageTraffic, log: Log, others: OtherShards?) {
        self.connection = connection
        self.bus = bus
        self.traffic = traffic
        self.log = log
        self.others = others
        connection.onUp { [unowned self] in advance() }
        connection.onLoss { [unowned self] _ in abandonWaiting() }
    }

    var isIdle: Bool { !isBusy && waiting.isEmpty }

    func store(_ receipts: ImportReceipts, _ request: RequestKey) { take(.store(receipts), request) }

    func drop(_ receipts: DropReceipts, _ request: RequestKey) { take(.drop(receipts), request) }

    private func take(_ work: Work, _ request: RequestKey) {
        guard waiting.count < Self.capacity else {
            return bus.respond(to: request, Problem(.overloaded, "too many requests are in flight"))
        }
        waiting.append((request, work, .now))
        advance()
    }

    private func advance() {
        guard connection.isUp, !isBusy, isRested(), let (request, work, _) = waiting.popFirst() else { return }
        isBusy = true
        switch work {
        case .store(let receipts): begin(receipts, request, others)
        case .drop(let receipts): begin(receipts, request)
        }
    }

    private func isRested() -> Bool {
        guard let since = waiting.first?.since,
            let begin = pace.begin(since: since, isFull: true, inFlight: 0, amongMessages: traffic.isFlowing)
        else { return false }
        guard begin > .now else { return true }
        restTimer =
            restTimer
            ?? Reactor.after(begin - .now) { [self] in
                restTimer = nil
                advance()
            }
        return false
    }

    private func abandonWaiting() {
        while let (request, _, _) = waiting.popFirst() { bus.abandon(request) }
    }

    // MARK: Statements

    private func begin(_ receipts: ImportReceipts, _ request: RequestKey, _ others: OtherShards?) {
        let layout = ReceiptLayout(receipts.receipts)
        guard let others else { return submit(receipts, layout, request, borrowing: []) }
        Reactor.spawn { [self] in
            do throws(DatabaseError) {
                let settings = try await others.allSettings(of: layout.users)
                guard connection.isUp else { throw .notConnected }
                submit(receipts, layout, request, borrowing: [settings])
            } catch {
                isBusy = false
                failed(request, error)
                advance()
            }
        }
    }

    private func submit(
        _ receipts: ImportReceipts, _ layout: ReceiptLayout, _ request: RequestKey, borrowing borrowed: [[UInt8]]
    ) {
        submit(request) {
            ReceiptImportStatements.add(
                receipts.receipts, layout, of: receipts.conversation, borrowing: borrowed, to: &$0)
        } respond: { [self] rows in
            let verdicts = ReceiptImportStatements.verdicts(rows, layout)
            stored += verdicts.count { $0 == .stored }
            bus.respond(to: request, status: 200) { buffer in
                for verdict in verdicts { SendResponse.append(verdict.problem, to: &buffer) }
            }
        }
    }

    private func begin(_ receipts: DropReceipts, _ request: RequestKey) {
        submit(request) {
            ReceiptImportStatements.addDrop(of: receipts.conversation, to: &$0)
        } respond: { [self] rows in
            guard let hasMore = ReceiptImportStatements.hasMore(rows) else {
                return bus.respond(to: request, Problem(.conflict, "this import is not being dropped"))
            }
            bus.respond(to: request, status: hasMore ? 202 : 204)
        }
    }

    /// If the database fails, the request is released: its repetition finds a working one, here or elsewhere. What was
    /// committed is recognised.
    private func submit(
        _ request: RequestKey, _ build: (inout Batch) -> Void, respond: @escaping @Reactor (Rows) -> Void
    ) {
        let begun = MonotonicTime.now
        connection.submit(build) { [self] outcome in
            isBusy = false
            pace.ended(begun: begun, at: .now)
            advance()  // First: PostgreSQL works while the response is encoded.
            switch outcome {
            case .committed(let rows): respond(rows[rows.count - 1])
            case .failed(let error, _), .unknown(let error): failed(request, error)
            }
        }
    }

    private func failed(_ request: RequestKey, _ error: DatabaseError) {
        log.warning("receipts of an import failed", [LogField("reason", error.debugDescription)])
        bus.abandon(request)
    }
}

extension SendResponse {
    fileprivate static func append(_ problem: Problem?, to buffer: inout ByteBuffer) {
        if let problem {
            append(problem, to: &buffer)
        } else {
            append(status: 200, to: &buffer) { _ in }
        }
    }
}
