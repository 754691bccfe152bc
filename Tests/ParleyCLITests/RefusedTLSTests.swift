import Glibc
import Models
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import ParleyClient
@testable import ReactorTransport

@Suite struct RefusedTLSTests {
    init() {
        ReactorThread.start()
        // OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
    }

    @Test("a call to a server without TLS is not tried again, and the reason is told")
    @Reactor func absent() async throws {
        let server = try UnfaithfulServer(.none)
        defer { server.stop() }
        let told = Mutex<[TLSRefusal]>([])
        let tell: @Sendable (TLSRefusal) -> Void = { refusal in told.withLock { $0.append(refusal) } }
        try TLSContext.trust(nil) { tell($1) }
        let http = HTTPClient([try Endpoint("https://127.0.0.1:\(server.port)", scheme: "http")])
        let reply = await http.send(HTTPRequest(path: "/v1/settings", token: "token"))
        #expect(reply.isRefused && !reply.isTemporary)
        #expect(told.withLock { $0 } == [.absent])
        await #expect(throws: APIError.self) {
            _ = try await ParleyAPI(http: http).call(HTTPRequest(path: "/v1/settings", token: "token"))
        }
    }
}
