import CommandSupport

/// The settings of scenarios that send messages.
struct TrafficSettings: Sendable {
    static let options: [CommandDescription.Option] = [
        .init("in-flight", "N", "closed loop: each sender keeps N messages in flight (default 1)"),
        .init("in-flight-in-all", "N", "closed loop: all senders together keep N in flight, and take turns"),
        .init("rate", "N", "open loop: N messages a second in all; latency counts from when each was due"),
        .init("connections", "N", "HTTP connections at most, shared by the senders (default: one each)"),
        .init("no-pipelining", nil, "one request at a time on a connection: as many connections as may be in flight"),
    ]

    let pace: MessageTraffic.Pace
    /// The maximum number of messages in flight per sender.
    let limit: Int
    let isPipelined: Bool
    /// The number of connections shared by the lanes. Nil when each lane has its own.
    let connections: Int?

    /// The number of requests that the server processes at once on one connection.
    private static let openLoopLimit = 64

    init(_ arguments: Arguments) throws(UsageError) {
        let inFlight = try arguments.integer("in-flight", in: 1...1000)
        isPipelined = !arguments.flag("no-pipelining")
        connections = try arguments.integer("connections", in: 1...10_000)
        guard isPipelined || connections == nil else {
            throw UsageError("--connections are shared by pipelining: leave one of it and --no-pipelining out")
        }
        if let rate = try arguments.integer("rate", in: 1...1_000_000) {
            pace = .rate(rate)
            limit = inFlight ?? (isPipelined ? Self.openLoopLimit : 4)
        } else if let together = try arguments.integer("in-flight-in-all", in: 1...100_000) {
            pace = .inFlightInAll(together)
            limit = inFlight ?? (isPipelined ? together : 4)
        } else {
            pace = .inFlight(inFlight ?? 1)
            limit = inFlight ?? 1
        }
    }

    /// Returns the number of connections for this many senders.
    func connections(of senders: Int) -> Int { min(senders * (isPipelined ? 1 : limit), connections ?? .max) }

    var words: String {
        switch pace {
        case .inFlight(let count):
            "\(count) in flight each\(count > 1 ? isPipelined ? ", pipelined" : ", not pipelined" : "")"
        case .inFlightInAll(let count):
            "\(grouped(count)) in flight in all\(isPipelined ? ", pipelined" : ", not pipelined")"
        case .rate(let rate): "\(grouped(rate))/s, open loop\(isPipelined ? "" : ", not pipelined")"
        }
    }
}
