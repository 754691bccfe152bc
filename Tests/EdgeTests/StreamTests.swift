import Reactor
import TestSupport
import Testing

@testable import Edge

/// Requests whose bodies come, and whose responses go, in pieces.
@Suite struct StreamTests {
    init() { ReactorThread.start() }

    private static func head(_ path: String = "/stream", _ fields: String = "Transfer-Encoding: chunked") -> String {
        "POST \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n"
    }

    private static func chunk(_ text: String) -> String { String(text.utf8.count, radix: 16) + "\r\n\(text)\r\n" }
    private static let end = "0\r\n\r\n"
    private static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test("pieces are passed on before the body is complete, and answered in chunks; the connection goes on")
    func pieces() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for round in 1...3 {
            try client.send(Self.head() + Self.chunk("first"))
            let response = try client.receiveResponse()
            #expect(response.status == 200 && response["Transfer-Encoding"] == "chunked")
            #expect(response["Content-Type"] == "application/x-ndjson" && response["Content-Length"] == nil)
            #expect(try client.receiveChunk() == Array("first".utf8))
            try client.send(Self.chunk("second"))
            #expect(try client.receiveChunk() == Array("second".utf8))
            try client.send(Self.end)
            #expect(try client.receiveChunk().isEmpty)
            #expect(await server.streams.count == round)
            #expect(await server.streams[round - 1].closings == 1)
        }
        try client.send(Self.get)
        #expect(try client.receiveResponse().body == "get ")
        #expect(await eventually { server.server.bufferedBytes == 0 })
    }

    @Test(
        "bodies of every framing are passed on, and an empty one is",
        arguments: [
            ("Content-Length: 5", "hello", "5"), ("Content-Length: 0", "", "0"), ("X: y", "", "0"),
            ("Transfer-Encoding: chunked", "0\r\n\r\n", "0"),
            ("Transfer-Encoding: chunked", "3;name=value;other=\"x\"\r\nabc\r\n0\r\nTrailer: x\r\n\r\n", "3"),
        ])
    func framing(field: String, body: String, count: String) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for _ in 0..<2 {
            try client.send(Self.head("/stream/counted", field) + body)
            #expect(try client.receiveResponse().status == 200)
            #expect(try client.receiveChunks() == count)
        }
    }

    @Test("a body of one byte at a time is the same body")
    func byteByByte() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for byte in (Self.head() + Self.chunk("abc") + Self.chunk("d") + Self.end + Self.get).utf8 {
            try client.send([byte])
        }
        _ = try client.receiveResponse()
        #expect(try client.receiveChunks() == "abcd")
        #expect(try client.receiveResponse().body == "get ")
    }

    @Test("a long body comes in pieces of bounded size, and none of it is kept")
    func longBody() async throws {
        let (server, port) = await TestServer.start { $0.streamPieceBytes = 1000 }
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/counted", "Content-Length: 3000000"))
        for _ in 0..<3 { try client.send([UInt8](repeating: 65, count: 1_000_000)) }
        _ = try client.receiveResponse()
        #expect(try client.receiveChunks() == "3000000")
        #expect(await server.streams[0].largestPiece <= 1000)
        #expect(await server.server.bufferedBytes == 0)
    }

    @Test("while a handler pauses the body is not read: the client's sends come to a halt")
    func backPressure() async throws {
        let (server, port) = await TestServer.start { $0.streamPieceBytes = 1000 }
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/paused", "Content-Length: 5000") + String(repeating: "x", count: 5000))
        #expect(await eventually { server.streams.first?.received ?? 0 > 0 })
        await Reactor.sleep(for: .milliseconds(20))
        #expect(await server.streams[0].received <= 1000)
        while await !server.streams[0].hasEnded {
            await server.streams[0].resume()
            await Reactor.sleep(for: .milliseconds(1))
        }
        _ = try client.receiveResponse()
        #expect(try client.receiveChunks() == "5000")
        #expect(await server.streams[0].largestPiece <= 1000)
    }

    @Test("requests before and behind a stream have their responses in order")
    func pipelined() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let later = "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
        try client.send(later + Self.head() + Self.chunk("one") + Self.end + Self.head() + Self.chunk("two") + Self.end)
        try client.send(Self.get)
        #expect(await eventually { server.streams.count == 1 })
        await Reactor.sleep(for: .milliseconds(20))
        #expect(await server.streams[0].received == 0, "it is not its turn")
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveResponse().body == "released")
        #expect(try client.receiveResponse().body == "later")
        for expected in ["one", "two"] {
            _ = try client.receiveResponse()
            #expect(try client.receiveChunks() == expected)
        }
        #expect(try client.receiveResponse().body == "get ")
    }

    @Test("100 Continue comes when it is the stream's turn")
    func expectContinue() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream", "Transfer-Encoding: chunked\r\nExpect: 100-continue"))
        #expect(try client.receiveResponse().status == 100)
        try client.send(Self.chunk("x") + Self.end)
        #expect(try client.receiveResponse().status == 200)
        #expect(try client.receiveChunks() == "x")
    }

    @Test("a client of HTTP/1.0 gets no chunks: the response ends with the connection")
    func version10() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /stream HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")
        let response = try client.receiveResponse()
        #expect(response["Transfer-Encoding"] == nil && response["Connection"] == "close")
        #expect(try client.receiveToEnd() == "hello")
    }

    @Test("a client that asks for it has its connection closed behind the response")
    func closing() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream", "Connection: close\r\nContent-Length: 2") + "hi" + Self.get)
        #expect(try client.receiveResponse()["Connection"] == "close")
        #expect(try client.receiveChunks() == "hi")
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a response that is complete before the body ends the connection, and survives further input")
    func early() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/early", "Content-Length: 4000000"))
        try client.send([UInt8](repeating: 65, count: 4_000_000))
        #expect(try client.receiveResponse().status == 200)
        #expect(try client.receiveChunks() == "")
        #expect(try client.receiveToEnd() == "")
        #expect(await server.streams[0].closings == 1)
    }

    @Test("a response that cannot be completed ends without its last chunk")
    func broken() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/broken") + Self.chunk("x"))
        #expect(try client.receiveResponse().status == 200)
        #expect(try client.receiveToEnd() == "")
        #expect(await server.streams[0].closings == 1)
    }

    @Test(
        "a malformed body is refused if its response has not begun; otherwise the response stays incomplete",
        arguments: [
            ("/stream/counted", "zz\r\n", 400), ("/stream", "zz\r\n", 200),
            ("/stream/counted", "1;" + String(repeating: "e", count: 200_000), 431),
        ])
    func malformed(path: String, rest: String, status: Int) async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head(path) + Self.chunk("x"))
        #expect(await eventually { server.streams.first?.received == 1 })
        try client.send(rest)
        #expect(try client.receiveResponse().status == status)
        #expect(try !client.receiveToEnd().hasSuffix(Self.end))
        #expect(await server.streams[0].closings == 1)
        #expect(await server.streams[0].hasEnded == false)
    }

    @Test("a client that goes away in the middle of its body leaves nothing behind", arguments: [true, false])
    func disconnect(onlySending: Bool) async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head() + Self.chunk("x") + "5\r\nab")
        _ = try client.receiveResponse()
        if onlySending { client.endWriting() } else { client.close() }
        #expect(await eventually { server.streams[0].closings == 1 })
        if onlySending { #expect(try !client.receiveToEnd().hasSuffix(Self.end)) }
        client.close()
        #expect(await eventually { server.server.openConnections == 0 && server.server.bufferedBytes == 0 })
        #expect(await server.streams[0].hasEnded == false)
    }

    @Test("a response waits for a client that reads slowly, and none of it is lost")
    func slowReader() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try client.send(Self.head("/stream/flood"))
        _ = try client.receiveResponse()
        await Reactor.sleep(for: .milliseconds(50))
        #expect(await server.server.bufferedBytes < 200_000)
        #expect(try client.receiveChunks() == String(repeating: "x", count: 20_000_000))
    }

    @Test("a client that never reads is closed")
    func neverReads() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.writeTimeout = .milliseconds(100)
        }
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try client.send(Self.head("/stream/flood"))
        #expect(await eventually { server.server.statistics.slowReaders == 1 && server.server.openConnections == 0 })
        #expect(await server.streams[0].closings == 1)
    }

    @Test("a body may take any time as long as it goes on")
    func slowBody() async throws {
        let (_, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.requestTimeout = .milliseconds(5)
            $0.bodyGrace = .milliseconds(5)
        }
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/counted"))
        for _ in 0..<20 {
            try client.send(Self.chunk("x"))
            await Reactor.sleep(for: .milliseconds(20))
        }
        try client.send(Self.end)
        #expect(try client.receiveResponse().status == 200)
        #expect(try client.receiveChunks() == "20")
    }

    @Test("a body that rests is given up, also when the server has paused it before")
    func restingBody() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.streamTimeout = .milliseconds(50)
        }
        let client = try RawClient(port: port)
        try client.send(Self.head("/stream/paused") + Self.chunk("x"))
        #expect(await eventually { server.streams.first?.received == 1 })
        await Reactor.sleep(for: .milliseconds(200))
        #expect(await server.streams[0].closings == 0, "it is the handler that waits")
        await server.streams[0].resume()
        #expect(try client.receiveResponse().status == 408)
        #expect(try client.receiveToEnd() == "")
        #expect(await server.streams[0].closings == 1)
    }

    @Test("what is refused by its head is not streamed")
    func refused() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head("/refused"))
        #expect(try client.receiveResponse().status == 403)
        #expect(await server.streams.isEmpty)
    }

    @Test("draining waits for a stream, and closes its connection")
    func drain() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(Self.head() + Self.chunk("x"))
        _ = try client.receiveResponse()
        let isDone = Flag()
        await begin(draining: server, isDone)
        try client.send(Self.chunk("y") + Self.end)
        #expect(try client.receiveChunks() == "xy")
        #expect(try client.receiveToEnd() == "")
        client.close()
        #expect(await eventually { isDone.value })
    }

    @Reactor private func begin(draining server: TestServer, _ flag: Flag) {
        server.server.drain(deadline: .seconds(60)) { flag.value = true }
    }
}
