import Testing

@testable import Bus

@Suite struct EndpointTests {
    @Test("a list names hosts, literal addresses and patterns of paths")
    func list() throws {
        let endpoints = try Endpoint.parse(list: "tcp://store:7101, tcp://[::1]:7102,,ipc:///run/store-*.sock ")
        #expect(
            endpoints == [
                .tcp(host: "store", port: 7101), .tcp(host: "::1", port: 7102), .ipc(pattern: "/run/store-*.sock"),
            ])
        #expect(try Endpoint.parse(list: "").isEmpty)
    }

    @Test(
        "a malformed endpoint is refused",
        arguments: [
            "store:7101", "tcp://store", "tcp://:7101", "tcp://store:0", "tcp://store:70000", "ipc://run/x",
            "udp://a:1",
        ])
    func malformed(text: String) {
        #expect(throws: Endpoint.Malformed.self) { try Endpoint(text) }
    }

    @Test("an address found by two endpoints stays connected until neither finds it")
    func sharedAddress() {
        let one = Endpoint.tcp(host: "one", port: 1), two = Endpoint.tcp(host: "two", port: 1)
        var peers = PeerSet()
        #expect(peers.update(one, found: ["a", "b"]) == (["a", "b"], []))
        #expect(peers.update(two, found: ["b", "c"]) == (["c"], []))
        #expect(peers.update(one, found: []) == ([], ["a"]))
        #expect(peers.update(two, found: ["c"]) == ([], ["b"]))
        #expect(peers.connected == ["c"])
    }

    @Test("literal addresses need no lookup, names do")
    func literals() {
        #expect(AddressLookup.literal("127.0.0.1", 7101) == ["tcp://127.0.0.1:7101"])
        #expect(AddressLookup.literal("::1", 7101) == ["tcp://[::1]:7101"])
        #expect(AddressLookup.literal("localhost", 7101) == nil)
    }
}
