import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Responds to requests after the database has done something for them.
@Reactor
final class QueryResponder {
    typealias Payload = (inout ByteBuffer) -> Void
    typealias Work = @Reactor () async throws(DatabaseError) -> Payload

    private let limit: Int
    private let bus: Bus
    private let log: Log
    private(set) var inFlight = 0
    private(set) var given = 0

    /// - Parameter limit: a request beyond this many in flight is refused as overload.
    init(limit: Int, bus: Bus, log: Log) {
        self.limit = limit
        self.bus = bus
        self.log = log
    }

    /// Responds with `status` and the result of `work`.
    func begin(_ request: RequestKey, status: UInt16 = 200, _ work: @escaping Work) {
        guard inFlight < limit else {
            return bus.respond(to: request, Problem(.overloaded, "too many requests are in flight"))
        }
        inFlight += 1
        Reactor.spawn { [self] in
            await finish(request, status, work)
            inFlight -= 1
        }
    }

    /// If the database fails, the request is released. Its repetition finds a working database, here or elsewhere, or
    /// reaches its deadline.
    private func finish(_ request: RequestKey, _ status: UInt16, _ work: Work) async {
        do {
            let payload = try await work()
            given += 1
            bus.respond(to: request, status: status, payload: payload)
        } catch {
            log.warning("request failed", [LogField("reason", error.debugDescription)])
            bus.abandon(request)
        }
    }
}
