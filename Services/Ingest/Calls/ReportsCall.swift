import Bus
import Bytes
import Models
import Reactor
import Wire

/// `GET /v1/reports` on its way: asks every slot, some at a time, and puts together what they have. A slot that does not respond
/// in time ends it: without that slot the page might pass over the earliest report.
@Reactor
final class ReportsCall {
    /// The slots that are asked at a time: so many responses, of `ContractLimits.pageBytes` and a report at most, are held at once.
    private static let slotsAtOnce = 16

    private unowned let ingest: IngestService
    private let administrator: UserID
    private let areOpen: Bool
    private var page: ReportQueuePage
    private let exchange: Exchange
    private let inFlight: InFlight
    private let begun = MonotonicTime.now
    private var asked = 0
    private var answered = 0
    private var isOver = false

    init(
        _ ingest: IngestService, _ administrator: UserID, areOpen: Bool, _ page: ReportQueuePage, _ exchange: Exchange
    ) {
        self.ingest = ingest
        self.administrator = administrator
        self.areOpen = areOpen
        self.page = page
        self.exchange = exchange
        inFlight = exchange.begin(weight: nil, size: 0)
    }

    func begin() { for _ in 0..<Self.slotsAtOnce { askNext() } }

    private func askNext() {
        guard !isOver, asked < Slot.count else { return }
        let slot = Slot(UInt8(asked))
        asked += 1
        let query = ReportsQuery(
            by: administrator, in: slot, areOpen: areOpen, limit: UInt16(page.limit), after: page.after)
        // The slots share the time of a request.
        let rest = max(ingest.deadline - (.now - begun), .milliseconds(1))
        ingest.bus.request(
            .reports, in: slot, deadline: rest, trace: exchange.trace, fields: { query.write(to: &$0) }
        ) { [self] outcome in
            guard !isOver else { return }
            switch outcome.result {
            case .success(let response): received(response)
            case .failure(let problem): end { exchange.respond(problem) }
            }
        }
    }

    private func received(_ response: BusResponse) {
        guard response.status < 400 else {
            return end { exchange.forward(status: response.status, response.payload.bytes) }
        }
        do throws(WireError) {
            try page.add(response.payload.bytes)
        } catch {
            return end { exchange.respond(.unreadableResponse) }
        }
        answered += 1
        guard answered == Slot.count else { return askNext() }
        end {
            var body = ByteBuffer(capacity: 4096)
            page.write(to: &body)
            exchange.respond(200, json: body)
        }
    }

    private func end(_ respond: () -> Void) {
        isOver = true
        inFlight.end()
        respond()
    }
}
