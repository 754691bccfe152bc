import Edge
import Glibc
import Reactor
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct AdministrationTests {
    init() { ReactorThread.start() }

    @Reactor private final class Running {
        let service: Service
        let port: UInt16
        var isConnected = true

        init(port: UInt16) throws {
            var environment = Environment([:])
            let settings = try ServiceSettings(name: "store", environment: &environment)
            service = Service(settings, log: Log(service: "store", level: .error))
            self.port = port
            service.health.require("database") { [unowned self] in isConnected ? nil : "not connected" }
            try service.serveAdministration(at: ListenAddress(host: "127.0.0.1", port: port))
        }

        func disconnect() { isConnected = false }
        func stop() { service.administration?.server.drain(deadline: .zero) {} }
    }

    /// The complete response to a request, read on a thread that may block.
    private func fetch(_ requestLine: String, port: UInt16) -> String {
        let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_aton("127.0.0.1", &address.sin_addr)
        let connected = withUnsafeBytes(of: &address) { bytes in
            connect(client, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard connected == 0 else { return "" }
        let request = Array("\(requestLine) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".utf8)
        write(client, request, request.count)
        var response: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while case let count = read(client, &chunk, chunk.count), count > 0 { response += chunk[..<count] }
        return String(decoding: response, as: UTF8.self)
    }

    @Test("a service serves its health, readiness and metrics, and nothing else")
    func routes() async throws {
        let port = UInt16(20_000 + getpid() % 20_000)
        let running = try await Running(port: port)
        #expect(fetch("GET /healthz", port: port).hasSuffix(#"{"status":"ok"}"#))
        #expect(fetch("GET /readyz", port: port).hasPrefix("HTTP/1.1 200 "))
        #expect(fetch("GET /metrics?x=1", port: port).contains("\nprocess_cpu_seconds_total "))
        #expect(fetch("GET /healthz/", port: port).hasPrefix("HTTP/1.1 404 "))
        #expect(fetch("DELETE /metrics", port: port).hasPrefix("HTTP/1.1 405 "))
        await running.disconnect()
        let response = fetch("GET /readyz", port: port)
        #expect(response.hasPrefix("HTTP/1.1 503 "))
        #expect(response.hasSuffix(#"{"ready":false,"reasons":{"database":"not connected"}}"#))
        await running.stop()
    }
}
