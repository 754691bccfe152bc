import Bus
import Glibc
import Reactor
import Wire

/// A service's part of the bus: the endpoint it binds, the endpoints it subscribes to, and the keys that prove its
/// role.
public struct BusConfiguration: Sendable {
    public let bind: String
    public let peers: [Role: [Endpoint]]
    /// Nil: the bus is neither encrypted nor authenticated.
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

    /// Whether anybody on this process's network could subscribe and publish.
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
        case .media: 7104
        }
    }
}

extension Environment {
    private static let keyDirectory = "PARLEY_BUS_KEYS"

    /// Reads the keys in the directory: `<role>.pub` of every role and `<role>.key` of `own`, as `deploy/keys` makes
    /// them.
    mutating func busKeys(of own: Role) throws(ConfigurationError) -> BusKeys? {
        guard let directory = optionalString(Self.keyDirectory) else { return nil }
        var publicKeys: [Role: BusKey] = [:]
        for role in Role.allCases where !isWithout(role, directory) || role == own {
            publicKeys[role] = try Self.key(directory, "\(role.rawValue).pub")
        }
        guard let pair = BusKeyPair(secretKey: try Self.key(directory, "\(own.rawValue).key")) else {
            throw ConfigurationError(Self.keyDirectory, "has no valid key in \(own.rawValue).key")
        }
        guard pair.publicKey == publicKeys[own] else {
            throw ConfigurationError(
                Self.keyDirectory, "has keys that are not a pair: \(own.rawValue).key and \(own.rawValue).pub")
        }
        return BusKeys(role: own, own: pair, publicKeys: publicKeys)
    }

    /// A directory that was made before a role existed has no key of it; nobody of that role joins the bus then.
    private func isWithout(_ role: Role, _ directory: String) -> Bool {
        role.isOptional && access("\(directory)/\(role.rawValue).pub", F_OK) != 0
    }

    private static func key(_ directory: String, _ name: String) throws(ConfigurationError) -> BusKey {
        guard let text = readTextFile("\(directory)/\(name)") else {
            throw ConfigurationError(
                keyDirectory, "must contain a readable \(name): \(String(cString: strerror(errno)))")
        }
        guard let key = BusKey(text.filter { !$0.isWhitespace }) else {
            throw ConfigurationError(keyDirectory, "has no key in \(name): a key is 40 characters of Z85")
        }
        return key
    }
}

extension Service {
    /// Opens the process's bus and registers its metrics. The service closes it in a step of the drain, after
    /// everything is published.
    public func openBus(_ configuration: BusConfiguration) throws(ZeroMQError) -> Bus {
        let bus = try Bus(bind: configuration.bind, keys: configuration.keys)
        for (role, endpoints) in configuration.peers where configuration.keys?.publicKeys.keys.contains(role) ?? true {
            try bus.follow(endpoints, as: role)
        }
        if configuration.isExposed {
            log.warning("the bus is neither encrypted nor authenticated", [LogField("variable", "PARLEY_BUS_KEYS")])
        }
        let refusals = RefusalLog(log: log)
        bus.onRefusal = { refusals.note($0, $1) }
        addMetrics(of: bus)
        return bus
    }

    private func addMetrics(of bus: Bus) {
        let counters: KeyValuePairs<String, (String, KeyPath<BusCounters, Int> & Sendable)> = [
            "frames_sent": ("Frames published", \.framesSent),
            "bytes_sent": ("Bytes published", \.bytesSent),
            "frames_received": ("Frames received", \.framesReceived),
            "bytes_received": ("Bytes received", \.bytesReceived),
            "frames_refused": ("Frames that could not be read, or that their sender may not publish", \.framesRefused),
            "connections_refused": ("Connections with a key of no role that may subscribe", \.connectionsRefused),
            "requests": ("Requests published, without repetitions", \.requests),
            "requests_repeated": ("Requests published again because no response came in time", \.requestsRepeated),
            "requests_timed_out": ("Requests without a response by their deadline", \.requestsTimedOut),
            "requests_refused": ("Requests refused because too many were in flight", \.requestsRefused),
            "late_responses": ("Responses to requests that had ended", \.lateResponses),
            "repetitions_dropped": ("Repetitions of requests in flight, dropped", \.repetitionsDropped),
        ]
        for (name, (help, path)) in counters {
            metrics.counter("parley_bus_\(name)_total", help) { Double(bus.counters[keyPath: path]) }
        }
        metrics.counter("parley_bus_handshakes_failed_total", "Handshakes with peers that did not prove their role") {
            Double(bus.failedHandshakes)
        }
        metrics.gauge("parley_bus_peers", "Connected endpoints") { Double(bus.connectedEndpoints.count) }
        metrics.gauge("parley_bus_requests_in_flight", "Requests sent that wait for a response") {
            Double(bus.requestsInFlight)
        }
        metrics.gauge("parley_bus_inbound_requests_in_flight", "Requests received that have no response yet") {
            Double(bus.inboundRequestsInFlight)
        }
    }
}
