import Reactor
import TestSupport
import Testing

@testable import Edge

@Suite struct IPAddressTests {
    @Test(
        "an IPv4 address counts as itself, an IPv6 address as its /64",
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:1:2:3", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ])
    func client(one: String, other: String, isSame: Bool) throws {
        #expect(try (#require(IPAddress(one)).client == #require(IPAddress(other)).client) == isSame)
    }

    @Test(
        "a network contains the addresses with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false), ("0.0.0.0/0", "255.1.1.1", true), ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true), ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false), ("fd00::/64", "fd00::1", true),
            ("fd00::/127", "fd00::1", true), ("fd00::/127", "fd00::2", false), ("fd00::1/128", "fd00::1", true),
        ])
    func network(network: String, address: String, isIn: Bool) throws {
        #expect(try #require(IPNetwork(network)).contains(#require(IPAddress(address))) == isIn)
    }

    @Test(
        "a malformed network is refused",
        arguments: ["", "/8", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/-1", "a/8"])
    func invalid(text: String) { #expect(IPNetwork(text) == nil) }

    @Test(
        "a private address may be a proxy",
        arguments: ["127.0.0.1", "10.2.3.4", "172.31.0.1", "192.168.1.1", "::1", "fd12::1"])
    func `private`(address: String) throws { #expect(try #require(IPAddress(address)).isPrivate) }

    @Test("a public address is a client's own", arguments: ["8.8.8.8", "172.32.0.1", "2001:db8::1", "::2"])
    func `public`(address: String) throws { #expect(try !#require(IPAddress(address)).isPrivate) }
}

/// A table whose mutating methods can be called inside `#expect`.
private final class Addresses {
    private var table: AddressTable

    init(connections: Int = 2, failures: Int = 3) {
        table = AddressTable(connectionLimit: connections, failureLimit: failures, window: 10)
    }

    var count: Int { table.count }

    func opens(_ address: IPAddress) -> Bool { table.open(address) }
    func close(_ address: IPAddress) { table.close(address) }
    func failed(_ address: IPAddress, at sweep: UInt32) { table.failed(address, at: sweep) }
    func throttles(_ address: IPAddress, at sweep: UInt32) -> Bool { table.isThrottled(address, at: sweep) }
}

@Suite struct AddressTableTests {
    private let home = IPAddress("192.0.2.1")!, other = IPAddress("192.0.2.2")!

    @Test("an address at its connection limit may open one more when one ends")
    func connections() {
        let table = Addresses()
        #expect(
            [table.opens(home), table.opens(home), table.opens(home), table.opens(other)] == [true, true, false, true])
        table.close(home)
        #expect(table.opens(home))
        for address in [home, home, other] { table.close(address) }
        #expect(table.count == 0)
    }

    @Test("an address with too many failures is throttled until they are reset")
    func failures() {
        let table = Addresses()
        for sweep in [UInt32(1), 2, 3] {
            #expect(!table.throttles(home, at: sweep))
            table.failed(home, at: sweep)
        }
        #expect(table.throttles(home, at: 4) && !table.throttles(other, at: 4))
        #expect(table.throttles(home, at: 10) && !table.throttles(home, at: 11))
        #expect(table.count == 0)
    }

    @Test("the number of addresses with failures is bounded")
    func bounded() {
        let table = Addresses()
        for number in 0..<100_000 { table.failed(IPAddress(v4: UInt32(number)), at: 1) }
        #expect(table.count <= 16_385)
        _ = table.throttles(home, at: 11)
        #expect(table.count == 0)
    }
}

@Suite struct ProxyProtocolTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

    /// As a proxy sends it for a client at this address.
    static func header(_ address: [UInt8] = [192, 0, 2, 1], command: UInt8 = 0x21, extra: [UInt8] = []) -> [UInt8] {
        let family: UInt8 = address.count == 4 ? 0x11 : 0x21
        let rest = address + address + [0, 1, 0, 2] + extra
        return signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
    }

    private func read(_ bytes: [UInt8]) -> ProxyHeader { bytes.withUnsafeBytes(ProxyHeader.init) }

    @Test("the header gives the client's address, whatever fields follow")
    func complete() {
        #expect(read(Self.header()) == .complete(source: IPAddress("192.0.2.1"), size: 28))
        #expect(read(Self.header(extra: [4, 0, 1, 7]) + [71]) == .complete(source: IPAddress("192.0.2.1"), size: 32))
        let v6 = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9]
        #expect(read(Self.header(v6)) == .complete(source: IPAddress("2001:db8::9"), size: 52))
        #expect(read(Self.header(command: 0x20)) == .complete(source: nil, size: 28))
    }

    @Test("every prefix of a header needs more bytes")
    func incomplete() {
        let header = Self.header()
        for length in 0..<header.count { #expect(read(Array(header[..<length])) == .incomplete) }
    }

    @Test("a request is not a header")
    func absent() {
        #expect(read(Array("GET / HTTP/1.1\r\n".utf8)) == .absent)
        #expect(read([13, 10, 13, 10, 71]) == .absent)
    }

    @Test(
        "a header that is not of version 2 is refused",
        arguments: [
            header(command: 0x11), header(command: 0x22),
            header([1, 2, 3, 4], extra: [UInt8](repeating: 0, count: 2100)),
            signature + [0x21, 0x12, 0, 12] + [UInt8](repeating: 0, count: 12),
            signature + [0x21, 0x11, 0, 11] + [UInt8](repeating: 0, count: 11),
            signature + [0x21, 0x21, 0, 12] + [UInt8](repeating: 0, count: 12),
        ])
    func malformed(bytes: [UInt8]) { #expect(read(bytes) == .malformed) }

    // MARK: On a connection

    private func start(_ proxies: [String] = ["127.0.0.1"], connections: Int = 2) async -> (TestServer, Int) {
        await TestServer.start {
            $0.trustedProxies = proxies.compactMap(IPNetwork.init)
            $0.connectionsPerAddress = connections
            $0.failuresPerAddress = 3
            $0.sweepInterval = .milliseconds(5)
        }
    }

    private let get = Array("GET /a HTTP/1.1\r\nHost: h\r\n\r\n".utf8)

    @Test("connections count for the client in the proxy's header", arguments: UInt64(0)..<10)
    func counted(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let (server, port) = await start()
        var clients: [RawClient] = []
        for expected in [200, 200, 429] {
            clients.append(try RawClient(port: port))
            for piece in (Self.header() + get).randomPieces(&random) { try clients.last?.send(piece) }
            #expect(try clients.last?.receiveResponse().status == expected)
        }
        let elsewhere = try RawClient(port: port)
        try elsewhere.send(Self.header([192, 0, 2, 2]) + get)
        #expect(try elsewhere.receiveResponse().status == 200)
        clients[0].close()
        #expect(await eventually { server.server.openConnections <= 3 })
        let again = try RawClient(port: port)
        try again.send(Self.header() + get)
        #expect(try again.receiveResponse().status == 200)
        #expect(await server.server.statistics.refusedByAddress == 1)
    }

    @Test("without a header a trusted proxy, or this machine, is served and not counted")
    func withoutHeader() async throws {
        for proxies in [["127.0.0.1"], []] {
            let (_, port) = await start(proxies)
            let clients = try (0..<5).map { _ in try RawClient(port: port) }
            for client in clients {
                try client.send(get)
                #expect(try client.receiveResponse().status == 200)
            }
        }
    }

    @Test("a header from an untrusted address is refused")
    func untrusted() async throws {
        let (_, port) = await start(["10.0.0.0/8"])
        let client = try RawClient(port: port)
        try client.send(Self.header() + get)
        #expect(try client.receiveResponse().status == 400)
    }

    @Test("a broken header closes the connection without a response")
    func broken() async throws {
        let (_, port) = await start()
        let client = try RawClient(port: port)
        try client.send(Self.header(command: 0x11) + get)
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a WebSocket counts for its client while it is open")
    func webSocket() async throws {
        let (server, port) = await start(connections: 1)
        let upgrade = Array(
            """
            GET /v1/socket HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
            """.utf8)
        let client = try RawClient(port: port)
        try client.send(Self.header() + upgrade)
        #expect(try client.receiveResponse(withoutBody: true).status == 101)
        let second = try RawClient(port: port)
        try second.send(Self.header() + get)
        #expect(try second.receiveResponse().status == 429)
        client.close()
        #expect(await eventually { server.socketsClosed == 1 })
        let third = try RawClient(port: port)
        try third.send(Self.header() + get)
        #expect(try third.receiveResponse().status == 200)
    }

    @Test("an address with many failures is throttled, another one is not")
    func throttled() async throws {
        let (_, port) = await start()
        func ask(_ path: String, from address: [UInt8]) throws -> String {
            let client = try RawClient(port: port)
            try client.send(Self.header(address) + Array("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
            defer { client.close() }
            return try client.receiveResponse().body
        }
        for _ in 0..<3 {
            #expect(try ask("/trust", from: [192, 0, 2, 1]) == "admitted")
            _ = try ask("/unauthenticated", from: [192, 0, 2, 1])
        }
        #expect(try ask("/trust", from: [192, 0, 2, 1]) == "throttled")
        #expect(try ask("/trust", from: [192, 0, 2, 2]) == "admitted")
    }
}
