import CLinux
import Glibc

/// The command `health` of every service: requests `/readyz` from the service beside it. For the health checks of
/// containers, whose images contain no HTTP client.
enum HealthCommand {
    private static let timeoutSeconds = 3

    /// Prints the response and exits with 0 when the service is ready, else with 1.
    static func run() -> Never {
        var environment = Environment.process
        guard let text = environment.optionalString("PARLEY_LISTEN"), let address = ListenAddress(text) else {
            fail("PARLEY_LISTEN must be set, as for the service")
        }
        guard let connection = connect(to: address) else { fail("no connection: \(String(cString: strerror(errno)))") }
        guard let response = readiness(connection) else { fail("no response") }
        let parts = response.split(separator: "\r\n\r\n", maxSplits: 1)
        print(parts.count == 2 ? parts[1] : response[...])
        exit(response.hasPrefix("HTTP/1.1 200 ") ? 0 : 1)
    }

    private static func fail(_ reason: String) -> Never {
        print("health: \(reason)")
        exit(1)
    }

    private static func connect(to address: ListenAddress) -> CInt? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        // A service that listens on all interfaces listens on the loopback interface.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][address.host] ?? address.host
        guard getaddrinfo(host, "\(address.port)", &hints, &found) == 0, let first = found?.pointee else { return nil }
        defer { freeaddrinfo(found) }
        let descriptor = socket(first.ai_family, first.ai_socktype | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        return Glibc.connect(descriptor, first.ai_addr, first.ai_addrlen) == 0 ? descriptor : nil
    }

    private static func readiness(_ descriptor: CInt) -> String? {
        let request = Array("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard write(descriptor, request, request.count) == request.count else { return nil }
        var response: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return response.isEmpty ? nil : String(decoding: response, as: UTF8.self) }
            response += chunk[..<count]
        }
    }
}
