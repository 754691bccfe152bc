import Reactor
import TestSupport
import Testing

@testable import Edge

@Suite struct HTTPServerTests {
    init() { ReactorThread.start() }

    @Test("a response has its length, type and date, and the connection stays open")
    func simple() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for _ in 0..<3 {
            try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
            let response = try client.receiveResponse()
            #expect(response.status == 200 && response.body == "post hi")
            #expect(response["Content-Type"] == "text/plain; charset=utf-8")
            #expect(response["Date"]?.hasSuffix(" GMT") == true && response["Date"]?.count == 29)
            #expect(response["Connection"] == nil)
        }
    }

    @Test("pipelined requests are handled concurrently, with responses in order")
    func pipelined() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"
                + "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        let bodies = try (0..<4).map { _ in try client.receiveResponse().body }
        #expect(bodies == ["later", "get ", "later", "released"])
    }

    @Test("a connection at the limit on outstanding responses is not read, and later continues where it stopped")
    func pipelineBound() async throws {
        let (server, port) = await TestServer.start { $0.outstandingResponses = 4 }
        let client = try RawClient(port: port)
        try client.send(String(repeating: "GET /later HTTP/1.1\r\nHost: h\r\n\r\n", count: 4))
        try client.send(String(repeating: "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", count: 500))
        #expect(await eventually { server.server.statistics.requests == 4 })
        await Reactor.sleep(for: .milliseconds(50))
        #expect(await server.server.statistics.requests == 4)
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveResponse().body == "released")
        let bodies = try (0..<504).map { _ in try client.receiveResponse().body }
        #expect(bodies == Array(repeating: "later", count: 4) + Array(repeating: "get ", count: 500))
    }

    @Test("a response is sent once, and one after the connection's end is dropped")
    func onceOnly() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /twice HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveResponse().body == "first")
        client.close()
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveResponse().body == "released")
        #expect(await eventually { server.server.openConnections == 1 })
    }

    @Test("HEAD has the head of GET and no body; 204 has no length")
    func bodiless() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /nothing HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        )
        #expect(try client.receiveResponse(withoutBody: true)["Content-Length"] == "4")
        let nothing = try client.receiveResponse()
        #expect(nothing.status == 204 && nothing["Content-Length"] == nil && nothing["Content-Type"] == nil)
        #expect(try client.receiveResponse().body == "get ")
    }

    @Test(
        "the version and the field Connection decide whether the connection stays open",
        arguments: [
            ("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "close", true),
            ("GET /a HTTP/1.0\r\n\r\n", "close", true),
            ("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", false),
        ])
    func persistence(request: String, says: String, ends: Bool) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(request)
        let response = try client.receiveResponse()
        #expect(response.body == "get " && response["Connection"] == says)
        if ends { #expect(try client.receiveToEnd() == "") } else { try client.send(request) }
        if !ends { #expect(try client.receiveResponse().status == 200) }
    }

    @Test("a client that ends its side still gets its responses")
    func halfClosed() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /half")
        client.endWriting()
        #expect(try client.receiveResponse().body == "get ")
        #expect(try client.receiveResponse().body == "get ")
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a malformed request gets a problem document after the earlier responses, and the connection ends")
    func malformed() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nNONSENSE\r\n\r\n" + String(repeating: "x", count: 300_000))
        #expect(try client.receiveResponse().body == "get ")
        let response = try client.receiveResponse()
        #expect(response.status == 400 && response["Content-Type"] == "application/problem+json")
        #expect(response["Connection"] == "close")
        #expect(
            response.body.hasPrefix("{\"status\":400,\"title\":\"") && response.body.hasSuffix("\"code\":\"invalid\"}"))
        #expect(try client.receiveToEnd() == "")
    }

    @Test(
        "a body over the limit of its route is refused as soon as that is known",
        arguments: [
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", 413),
            ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n", 413),
            (
                "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n\(String(repeating: "x", count: 1001))",
                413
            ),
            (
                "POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n\(String(repeating: "x", count: 1001))",
                200
            ),
            (
                "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n\(String(repeating: "x", count: 1000))",
                200
            ),
        ])
    func bodyLimit(request: String, status: Int) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(request)
        let response = try client.receiveResponse()
        #expect(response.status == status)
        if status == 413 { #expect(response.body.contains("\"code\":\"tooLarge\"")) }
    }

    @Test("the response to a request that is refused in its middle survives further input from the client")
    func lingering() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 20000000\r\n\r\n")
        let chunk = [UInt8](repeating: 65, count: 1 << 20)
        for _ in 0..<8 { try client.send(chunk) }
        #expect(try client.receiveResponse().status == 413)
    }

    @Test("a client that waits for 100 Continue gets it after earlier responses")
    func expectContinue() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n")
        #expect(try client.receiveResponse().status == 100)
        try client.send("hi")
        #expect(try client.receiveResponse().body == "post hi")
        try client.send(
            "GET /later HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try other.receiveResponse()
        #expect(try client.receiveResponse().body == "later")
        #expect(try client.receiveResponse().status == 100)
    }

    @Test("another expectation is refused")
    func otherExpectation() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n")
        #expect(try client.receiveResponse().status == 417)
    }

    // MARK: By the head

    @Test(
        "a request that is refused by its head gets its response before the body, and no 100 Continue",
        arguments: [
            "Content-Length: 100", "Content-Length: 100000000", "Transfer-Encoding: chunked",
            "Expect: 100-continue\r\nContent-Length: 100",
        ])
    func refusedByHead(framing: String) async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /refused HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
        let response = try client.receiveResponse()
        #expect(response.status == 403 && response.body == "no")
        #expect(await server.server.statistics.requests == 0)
    }

    @Test("the body of a refused request is discarded if it is short, and the connection goes on")
    func discarded() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let body = String(repeating: "GET /a HTTP/1.1\r\n", count: 100)
        for _ in 0..<3 {
            try client.send("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            #expect(try client.receiveResponse().status == 403)
            try client.send(body + "GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try client.receiveResponse().body == "get ")
        }
        #expect(await server.server.statistics.requests == 3)
        #expect(await server.server.bufferedBytes == 0)
    }

    @Test(
        "with a long body, a chunked one, or a client that waits for 100 Continue, a refusal ends the connection",
        arguments: [
            "Content-Length: 1000000", "Transfer-Encoding: chunked", "Expect: 100-continue\r\nContent-Length: 100",
            "Connection: close\r\nContent-Length: 1",
        ])
    func refusedAndClosed(framing: String) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /refused HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
        #expect(try client.receiveResponse()["Connection"] == "close")
        #expect(try client.receiveToEnd() == "")
    }

    @Test("refusals keep their position among the responses")
    func refusalOrder() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let refused = "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
        try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n" + refused + "GET /refused HTTP/1.1\r\nHost: h\r\n\r\n")
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try other.receiveResponse()
        #expect(try (0..<3).map { _ in try client.receiveResponse().body } == ["later", "no", "no"])
    }

    @Test("each request is admitted once, however its body arrives")
    func admittedOnce() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
                + "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
                + "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        #expect(try (0..<4).map { _ in try client.receiveResponse().body } == ["get ", "post hi", "post hi", "post "])
        #expect(await server.admitted == 4)
    }

    @Test("the account is charged for a body while it arrives, and no longer")
    func heldBody() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let part = String(repeating: "x", count: 30_000)
        for isCompleted in [true, false] {
            try client.send("POST /held HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n" + part)
            #expect(await eventually { server.account.held == 30_000 })
            #expect(await server.server.bufferedBytes == 30_000)
            if isCompleted { try client.send(part) } else { client.close() }
            if isCompleted { #expect(try client.receiveResponse().status == 200) }
            #expect(await eventually { server.account.held == 0 && server.server.bufferedBytes == 0 })
        }
    }

    @Test("a body that the account has no room for is refused in its middle")
    func bodyWithoutRoom() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /held HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<20 { try client.send("3a98\r\n" + String(repeating: "x", count: 15_000) + "\r\n") }
        let response = try client.receiveResponse()
        #expect(response.status == 429 && response["Connection"] == "close")
        #expect(await server.account.most <= 100_000)
        #expect(await eventually { server.account.held == 0 })
    }

    @Test("a handler's state for a connection stays with that connection")
    func userInfo() async throws {
        let (_, port) = await TestServer.start()
        let clients = [try RawClient(port: port), try RawClient(port: port)]
        for round in 1...3 {
            for client in clients {
                try client.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try client.receiveResponse().body == "\(round)")
            }
        }
    }

    @Test("an upgrade to another protocol is ignored")
    func otherUpgrade() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for _ in 0..<2 {
            try client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
            #expect(try client.receiveResponse().body == "get ")
        }
    }

    @Test("large responses arrive complete, even if the client reads late")
    func largeAnswers() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port, receiveBuffer: 8192)
        try client.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 3))
        await Reactor.sleep(for: .milliseconds(100))
        for _ in 0..<3 { #expect(try client.receiveResponse().body.utf8.count == 4_000_000) }
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveResponse().body == "get ")
    }

    // MARK: Time

    @Test(
        "a request that does not arrive in time is refused",
        arguments: [
            "GET /a HT", "GET /a HTTP/1.1\r\nHost: h\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf",
        ])
    func slowRequest(start: String) async throws {
        let (_, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.headTimeout = .milliseconds(50)
            $0.requestTimeout = .milliseconds(50)
        }
        let client = try RawClient(port: port)
        try client.send(start)
        #expect(try client.receiveResponse().status == 408)
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a client cannot keep a request alive by sending a byte now and then")
    func drippingRequest() async throws {
        let (_, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.headTimeout = .milliseconds(100)
        }
        let client = try RawClient(port: port)
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n")
        for _ in 0..<30 {
            try? client.send("X: y\r\n")
            await Reactor.sleep(for: .milliseconds(10))
        }
        #expect(try client.receiveResponse().status == 408)
    }

    @Test("a body slower than the slowest rate is refused, one that keeps to it is not")
    func slowBody() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.bodyGrace = .milliseconds(50)
            $0.slowestRate = 2000
        }
        let slow = try RawClient(port: port), steady = try RawClient(port: port)
        let head = "POST /held HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n"
        try slow.send(head)
        try steady.send(head + String(repeating: "x", count: 80_000))
        #expect(try slow.receiveResponse().status == 408)
        try steady.send(String(repeating: "x", count: 10_000))
        #expect(try steady.receiveResponse().status == 200)
        #expect(await eventually { server.account.held == 0 })
    }

    @Test("a connection without a first request is closed, and empty lines are not a request")
    func neverAsks() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.firstRequestTimeout = .milliseconds(100)
        }
        let client = try RawClient(port: port)
        #expect(await eventually { server.server.openConnections == 1 })
        while await server.server.openConnections == 1 {
            do { try client.send("\r\n") } catch { client.close() }
            await Reactor.sleep(for: .milliseconds(10))
        }
    }

    @Test("while the server buffers too much, peers that lag far behind are closed")
    func pressure() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.bufferedBytes = 100_000
        }
        let behind = try RawClient(port: port, receiveBuffer: 4096)
        try behind.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 5))
        #expect(await eventually { server.server.statistics.slowReaders == 1 })
        #expect(await server.server.bufferedBytes == 0)
        let other = try RawClient(port: port)
        try other.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveResponse().body == "get ")
    }

    @Test("an idle connection is closed after a while, one that waits for its response is not")
    func idle() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.idleTimeout = .seconds(1)
        }
        let waiting = try RawClient(port: port)
        try waiting.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        let idle = try RawClient(port: port)
        #expect(try idle.receiveToEnd() == "")
        idle.close()
        #expect(await eventually { server.server.openConnections == 1 })
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try waiting.receiveResponse().body == "later")
    }

    @Test("a client that never reads is closed")
    func neverReads() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.writeTimeout = .milliseconds(100)
        }
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try client.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 20))
        #expect(await eventually { server.server.statistics.slowReaders == 1 && server.server.openConnections == 0 })
    }

    @Test("a client that sends requests without reading is closed at the limit on its responses")
    func unreadBound() async throws {
        let (server, port) = await TestServer.start {
            $0.unreadResponseBytes = 1 << 40
            $0.maximumUnreadResponseBytes = 10_000_000
        }
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try client.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 20))
        #expect(await eventually { server.server.openConnections == 0 })
    }

    // MARK: The server

    @Test("a connection beyond the limit gets 503")
    func tooMany() async throws {
        let (server, port) = await TestServer.start { $0.connections = 2 }
        let clients = [try RawClient(port: port), try RawClient(port: port)]
        #expect(await eventually { server.server.openConnections == 2 })
        let third = try RawClient(port: port)
        let response = try third.receiveResponse()
        #expect(
            response.status == 503 && response["Retry-After"] == "1"
                && response.body.contains("\"code\":\"overloaded\""))
        #expect(try third.receiveToEnd() == "")
        clients[0].close()
        #expect(await eventually { server.server.openConnections == 1 })
        let fourth = try RawClient(port: port)
        try fourth.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try fourth.receiveResponse().status == 200)
    }

    @Test("draining sends the outstanding responses and accepts nothing new")
    func drain() async throws {
        let (server, port) = await TestServer.start()
        let busy = try RawClient(port: port), idle = try RawClient(port: port), half = try RawClient(port: port)
        try busy.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        try half.send("POST /release HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n")
        #expect(await eventually { server.server.openConnections == 3 && server.server.statistics.requests == 1 })
        await Reactor.sleep(for: .milliseconds(20))
        let isDone = Flag()
        await drain(server, isDone)
        #expect(try idle.receiveToEnd() == "")
        idle.close()
        #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
        try half.send("x")
        let last = try half.receiveResponse()
        #expect(last.body == "released" && last["Connection"] == "close")
        let response = try busy.receiveResponse()
        #expect(response.body == "later" && response["Connection"] == "close")
        half.close()
        busy.close()
        #expect(await eventually { isDone.value })
    }

    @Test("draining ends at its deadline whatever clients do")
    func drainDeadline() async throws {
        let (server, port) = await TestServer.start()
        let busy = try RawClient(port: port)
        try busy.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(await eventually { server.server.statistics.requests == 1 })
        let isDone = Flag()
        await drain(server, isDone, deadline: .milliseconds(30))
        #expect(await eventually { isDone.value })
        #expect(try busy.receiveToEnd() == "")
    }

    @Reactor private func drain(_ server: TestServer, _ flag: Flag, deadline: Duration = .seconds(60)) {
        server.server.drain(deadline: deadline) { flag.value = true }
    }

    @Test(
        "the error of an address that cannot be bound gives the reason",
        arguments: ["nonsense", "127.0.0.1:99999", "203.0.113.1:1"])
    @Reactor func listenFails(address: String) async {
        let server = Server(await TestServer.start().0)
        #expect(throws: ListenError.self) { try server.listen(at: address) }
    }
}

@Reactor final class Flag {
    var value = false
    nonisolated init() {}
}
