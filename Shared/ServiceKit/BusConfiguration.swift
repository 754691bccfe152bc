import Bus
import Reactor

/// Where a service stands on the bus: what it binds, and which services it listens to.
package struct BusConfiguration: Sendable {
    package enum Role: String, Sendable {
        case ingest, store, receipt, fanout

        var variable: String { "PARLEY_BUS_\(rawValue.uppercased())" }

        var port: Int {
            switch self {
            case .ingest: 7100
            case .store: 7101
            case .receipt: 7102
            case .fanout: 7103
            }
        }
    }

    package let bind: String
    package let peers: [Endpoint]

    /// Reads `PARLEY_BUS_BIND` and the endpoints of every role in `listeningTo`, such as `PARLEY_BUS_STORE`.
    package init(
        _ own: Role, listeningTo roles: [Role], environment: inout Environment
    ) throws(ConfigurationError) {
        bind = environment.string("PARLEY_BUS_BIND", default: "tcp://127.0.0.1:\(own.port)")
        var peers: [Endpoint] = []
        for role in roles {
            let list = environment.string(role.variable, default: "tcp://127.0.0.1:\(role.port)")
            do {
                peers += try Endpoint.parse(list: list)
            } catch {
                throw ConfigurationError(role.variable, error.description)
            }
        }
        self.peers = peers
    }
}

extension Service {
    /// Opens the process's bus and has it counted. It is closed by a step of the drain, which the service adds when
    /// everything it has to say was said.
    package func openBus(_ configuration: BusConfiguration) throws(ZeroMQError) -> Bus {
        let bus = try Bus(bind: configuration.bind)
        bus.follow(configuration.peers)
        addMetrics(of: bus)
        return bus
    }

    private func addMetrics(of bus: Bus) {
        let counters: KeyValuePairs<String, KeyPath<BusCounters, Int> & Sendable> = [
            "frames_sent": \.framesSent, "bytes_sent": \.bytesSent, "frames_received": \.framesReceived,
            "bytes_received": \.bytesReceived, "frames_refused": \.framesRefused, "requests": \.requests,
            "requests_repeated": \.requestsRepeated, "requests_timed_out": \.requestsTimedOut,
            "requests_refused": \.requestsRefused, "answers_late": \.answersLate,
            "repetitions_dropped": \.repetitionsDropped,
        ]
        for (name, path) in counters {
            metrics.counter("parley_bus_\(name)_total", "Bus: \(name.replacing("_", with: " "))") {
                Double(bus.counters[keyPath: path])
            }
        }
        metrics.gauge("parley_bus_peers", "Endpoints connected at the moment") { Double(bus.connectedEndpoints.count) }
        metrics.gauge("parley_bus_requests_in_flight", "Requests waiting for an answer") {
            Double(bus.requestsInFlight)
        }
        metrics.gauge("parley_bus_requests_in_work", "Requests being worked on") { Double(bus.requestsBegun) }
    }
}
