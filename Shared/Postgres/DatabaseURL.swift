import CPQ
import Glibc

/// A libpq URL or connection string (PostgreSQL Documentation 34.1.1), split into its parameters and its hosts.
///
/// libpq can go through several hosts by itself. But it waits for a host that drops packets as long as TCP does, and
/// stops at the first one that responds with an error. So each attempt to connect gets one address of one host, and the
/// next attempt the next one.
struct DatabaseURL {
    /// All parameters except those that locate the server. May hold a password: never logged.
    let parameters: [(String, String)]
    private let hosts: [Host]

    private struct Host {
        var name: String?
        var address: String?
        var port: String?
    }

    /// Nil if libpq does not understand `text`, or if its lists of hosts and ports do not match.
    init?(_ text: String) {
        guard let all = Self.parse(text) else { return nil }
        let places: Set = ["host", "hostaddr", "port"]
        parameters = all.filter { !places.contains($0.0) }
        let values = Dictionary(uniqueKeysWithValues: all)
        guard let hosts = Self.hosts(values["host"], values["hostaddr"], values["port"]) else { return nil }
        self.hosts = hosts
    }

    var hostCount: Int { hosts.count }

    /// The time in which the server must accept a connection, if the URL sets it.
    var connectTimeout: Duration? {
        let text = parameters.last { $0.0 == "connect_timeout" }?.1
        return text.flatMap { Int($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    /// The parameters of one attempt. Hosts take turns, and so do the addresses of each. Blocks while a name is
    /// resolved. A name that cannot be resolved is left to libpq, which reports why.
    func keywords(forAttempt number: Int) -> [(String, String)] {
        var host = hosts[number % hosts.count]
        if host.address == nil, let name = host.name, !name.hasPrefix("/"), !name.hasPrefix("@") {
            let addresses = Self.addresses(of: name)
            if !addresses.isEmpty { host.address = addresses[number / hosts.count % addresses.count] }
        }
        let place = [("host", host.name), ("hostaddr", host.address), ("port", host.port)]
        return parameters + place.compactMap { keyword, value in value.map { (keyword, $0) } }
    }

    // MARK: Parsing

    private static func parse(_ text: String) -> [(String, String)]? {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            return nil
        }
        defer { PQconninfoFree(options) }
        var values: [(String, String)] = [], option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        return values
    }

    /// Pairs the lists as libpq does: they have as many entries each, except that one port may stand for all. An empty
    /// entry is the default.
    private static func hosts(_ names: String?, _ addresses: String?, _ ports: String?) -> [Host]? {
        let names = list(names), addresses = list(addresses), ports = list(ports)
        let count = max(names.count, addresses.count, 1)
        guard [0, count].contains(names.count), [0, count].contains(addresses.count),
            [0, 1, count].contains(ports.count)
        else { return nil }
        return (0..<count).map { index in
            Host(
                name: names.isEmpty ? nil : names[index], address: addresses.isEmpty ? nil : addresses[index],
                port: ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : index])
        }
    }

    private static func list(_ text: String?) -> [String?] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
    }

    private static func addresses(of name: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list!, next: { $0.pointee.ai_next }).compactMap { entry in
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            guard result == 0 else { return nil }
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
