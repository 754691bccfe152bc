import Testing

@testable import Ingest
@testable import ServiceKit

@Suite struct WebPageTests {
    private func read(_ variables: [String: String]) throws -> WebConfiguration {
        var environment = Environment(variables)
        return try WebConfiguration(environment: &environment)
    }

    @Test(
        "an address that could change the page's policy is refused",
        arguments: [
            ["PARLEY_SOCKET_URL": "https://chat.example/v1/socket"], ["PARLEY_SOCKET_URL": "wss://"],
            ["PARLEY_SOCKET_URL": "wss://a; script-src *"], ["PARLEY_WEB_ORIGINS": "https://app.example/path"],
            ["PARLEY_WEB_ORIGINS": "app.example"], ["PARLEY_WEB_ORIGINS": "https://app.example\";"],
            ["PARLEY_WEB_ORIGINS": "https://app.example,*"], ["PARLEY_WEB": "yes"],
        ])
    func refused(variables: [String: String]) {
        #expect(throws: ConfigurationError.self) { try read(variables) }
    }

    @Test("the policy names the origin of the WebSocket, not its path")
    func origin() throws {
        let configuration = try read([
            "PARLEY_SOCKET_URL": "wss://live.example:8443/v1/socket",
            "PARLEY_WEB_ORIGINS": "https://app.example, http://localhost:3000",
        ])
        #expect(configuration.socketOrigin == "wss://live.example:8443")
        #expect(configuration.origins == ["https://app.example", "http://localhost:3000"])
    }

    @Test("a page is served where it is wanted and there is one")
    func served() throws {
        let file = WebFile(path: "/", type: "text/html", content: Array("<p>".utf8), gzip: [])
        let unwanted = WebPage(try read([:]), files: [file])
        let absent = WebPage(try read(["PARLEY_WEB": "1"]), files: [])
        #expect(unwanted == nil && absent == nil)
        let page = try #require(WebPage(try read(["PARLEY_WEB": "1"]), files: [file]))
        func isServed(_ path: String) -> Bool {
            Array(path.utf8).withUnsafeBytes { page.resource(at: $0) != nil }
        }
        #expect(isServed("/"))
        #expect(!isServed("") && !isServed("//") && !isServed("/parley.js"))
    }
}
