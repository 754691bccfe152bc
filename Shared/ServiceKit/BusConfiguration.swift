import Bus
import Glibc
import Reactor
import Wire

/// Where a service stands on the bus: what it binds, which services it listens to, and how it proves what it is.
public struct BusConfiguration: Sendable {
    public let bind: String
    public let peers: [Role: [Endpoint]]
    /// None: the bus is neither encrypted nor authenticated.
    public let keys: BusKeys?

    /// Reads `PARLEY_BUS_BIND`, the endpoints of every role that `own` listens to, such as `PARLEY_BUS_STORE`, and the
    /// keys in the directory `PARLEY_BUS_KEYS`.
    public init(_ own: Role, environment: inout Environment) throws(ConfigurationError) {
        bind = environment.string("PARLEY_BUS_BIND", default: "tcp://127.0.0.1:\(own.port)")
        var peers: [Role: [Endpoint]] = [:]
        for role in own.listensTo {
            let list = environment.string(role.variable, default: "tcp://127.0.0.1:\(role.port)")
            do {
                peers[role] = try Endpoint.parse(list: list)
            } catch {
                throw ConfigurationError(role.variable, error.description)
            }
        }
        self.peers = peers
        keys = try environment.busKeys(of: own)
    }

    /// Whether whoever shares a network with this process could listen and speak.
    var isExposed: Bool {
        keys == nil && !bind.hasPrefix("ipc:") && !bind.hasPrefix("tcp://127.") && !bind.hasPrefix("tcp://[::1]")
    }
}

extension Role {
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

extension Environment {
    private static let keyDirectory = "PARLEY_BUS_KEYS"

    /// The keys in the directory: `<role>.pub` of every role, and `<role>.key` of the own one, as `deploy/keys` makes them.
    mutating func busKeys(of own: Role) throws(ConfigurationError) -> BusKeys? {
        guard let directory = optionalString(Self.keyDirectory) else { return nil }
        var publicKeys: [Role: BusKey] = [:]
        for role in Role.allCases { publicKeys[role] = try Self.key(directory, "\(role.rawValue).pub") }
        guard let pair = BusKeyPair(secretKey: try Self.key(directory, "\(own.rawValue).key")) else {
            throw ConfigurationError(Self.keyDirectory, "has no usable key in \(own.rawValue).key")
        }
        guard pair.publicKey == publicKeys[own] else {
            throw ConfigurationError(
                Self.keyDirectory, "has keys that do not belong together: \(own.rawValue).key and \(own.rawValue).pub")
        }
        return BusKeys(role: own, own: pair, publicKeys: publicKeys)
    }

    private static func key(_ directory: String, _ name: String) throws(ConfigurationError) -> BusKey {
        guard let text = readTextFile("\(directory)/\(name)") else {
            throw ConfigurationError(keyDirectory, "must hold a readable \(name): \(String(cString: strerror(errno)))")
        }
        guard let key = BusKey(text.filter { !$0.isWhitespace }) else {
            throw ConfigurationError(keyDirectory, "has no key in \(name): 40 characters of Z85 are one")
        }
        return key
    }
}

extension Service {
    /// Opens the process's bus and has it counted. It is closed by a step of the drain, which the service adds when
    /// everything it has to say was said.
    public func openBus(_ configuration: BusConfiguration) throws(ZeroMQError) -> Bus {
        let bus = try Bus(bind: configuration.bind, keys: configuration.keys)
        for (role, endpoints) in configuration.peers { try bus.follow(endpoints, as: role) }
        if configuration.isExposed {
            log.warning("the bus is open to everybody on its network", [LogField("variable", "PARLEY_BUS_KEYS")])
        }
        let refusals = RefusalLog(log: log)
        bus.onRefusal = { refusals.note($0, $1) }
        addMetrics(of: bus)
        return bus
    }

    private func addMetrics(of bus: Bus) {
        let counters: KeyValuePairs<String, KeyPath<BusCounters, Int> & Sendable> = [
            "frames_sent": \.framesSent, "bytes_sent": \.bytesSent, "frames_received": \.framesReceived,
            "bytes_received": \.bytesReceived, "frames_refused": \.framesRefused,
            "connections_refused": \.connectionsRefused, "requests": \.requests,
            "requests_repeated": \.requestsRepeated, "requests_timed_out": \.requestsTimedOut,
            "requests_refused": \.requestsRefused, "late_responses": \.lateResponses,
            "repetitions_dropped": \.repetitionsDropped,
        ]
        for (name, path) in counters {
            metrics.counter("parley_bus_\(name)_total", "Bus: \(name.replacing("_", with: " "))") {
                Double(bus.counters[keyPath: path])
            }
        }
        metrics.counter("parley_bus_handshakes_failed_total", "Bus: peers that did not prove their role") {
            Double(bus.failedHandshakes)
        }
        metrics.gauge("parley_bus_peers", "Endpoints connected at the moment") { Double(bus.connectedEndpoints.count) }
        metrics.gauge("parley_bus_requests_in_flight", "Requests waiting for a response") {
            Double(bus.requestsInFlight)
        }
        metrics.gauge("parley_bus_inbound_requests_in_flight", "Requests received and not yet responded to") {
            Double(bus.inboundRequestsInFlight)
        }
    }
}
