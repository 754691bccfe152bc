import Reactor
import TestSupport
import Testing

@testable import Edge

@Suite struct HTTPServerTests {
    init() { ReactorThread.start() }

    @Test("a request is answered with its length, type and date, and the connection stays open")
    func simple() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for _ in 0..<3 {
            try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
            let answer = try client.receiveAnswer()
            #expect(answer.status == 200 && answer.body == "post hi")
            #expect(answer["Content-Type"] == "text/plain; charset=utf-8")
            #expect(answer["Date"]?.hasSuffix(" GMT") == true && answer["Date"]?.count == 29)
            #expect(answer["Connection"] == nil)
        }
    }

    @Test("pipelined requests are handled at once and answered in order")
    func pipelined() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"
                + "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        let bodies = try (0..<4).map { _ in try client.receiveAnswer().body }
        #expect(bodies == ["later", "get ", "later", "released"])
    }

    @Test("beyond the bound on outstanding answers a connection is not read, and later it goes on where it stood")
    func pipelineBound() async throws {
        let (server, port) = await TestServer.start { $0.outstandingAnswers = 4 }
        let client = try RawClient(port: port)
        try client.send(String(repeating: "GET /later HTTP/1.1\r\nHost: h\r\n\r\n", count: 4))
        try client.send(String(repeating: "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", count: 500))
        #expect(await eventually { server.server.statistics.requests == 4 })
        await Reactor.sleep(for: .milliseconds(50))
        #expect(await server.server.statistics.requests == 4)
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveAnswer().body == "released")
        let bodies = try (0..<504).map { _ in try client.receiveAnswer().body }
        #expect(bodies == Array(repeating: "later", count: 4) + Array(repeating: "get ", count: 500))
    }

    @Test("an answer is sent once, and one that comes after the connection's end is dropped")
    func onceOnly() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /twice HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveAnswer().body == "first")
        client.close()
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveAnswer().body == "released")
        #expect(await eventually { server.server.openConnections == 1 })
    }

    @Test("HEAD has the head of GET and no body; 204 has no length")
    func bodiless() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /nothing HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        )
        #expect(try client.receiveAnswer(withoutBody: true)["Content-Length"] == "4")
        let nothing = try client.receiveAnswer()
        #expect(nothing.status == 204 && nothing["Content-Length"] == nil && nothing["Content-Type"] == nil)
        #expect(try client.receiveAnswer().body == "get ")
    }

    @Test(
        "whether the connection stays open is as version and Connection say",
        arguments: [
            ("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "close", true),
            ("GET /a HTTP/1.0\r\n\r\n", "close", true),
            ("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", false),
        ])
    func persistence(request: String, says: String, ends: Bool) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(request)
        let answer = try client.receiveAnswer()
        #expect(answer.body == "get " && answer["Connection"] == says)
        if ends { #expect(try client.receiveToEnd() == "") } else { try client.send(request) }
        if !ends { #expect(try client.receiveAnswer().status == 200) }
    }

    @Test("a client that ends its side still gets its answers")
    func halfClosed() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /half")
        client.endWriting()
        #expect(try client.receiveAnswer().body == "get ")
        #expect(try client.receiveAnswer().body == "get ")
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a malformed request gets a problem document behind the answers before it, and the connection ends")
    func malformed() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nNONSENSE\r\n\r\n" + String(repeating: "x", count: 300_000))
        #expect(try client.receiveAnswer().body == "get ")
        let answer = try client.receiveAnswer()
        #expect(answer.status == 400 && answer["Content-Type"] == "application/problem+json")
        #expect(answer["Connection"] == "close")
        #expect(answer.body.hasPrefix("{\"status\":400,\"title\":\"") && answer.body.hasSuffix("\"code\":\"invalid\"}"))
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
        let answer = try client.receiveAnswer()
        #expect(answer.status == status)
        if status == 413 { #expect(answer.body.contains("\"code\":\"tooLarge\"")) }
    }

    @Test("the answer to a request that is refused in its middle survives what the client still sends")
    func lingering() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 20000000\r\n\r\n")
        let chunk = [UInt8](repeating: 65, count: 1 << 20)
        for _ in 0..<8 { try client.send(chunk) }
        #expect(try client.receiveAnswer().status == 413)
    }

    @Test("a client that waits for 100 Continue is asked for the body, behind earlier answers")
    func expectContinue() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n")
        #expect(try client.receiveAnswer().status == 100)
        try client.send("hi")
        #expect(try client.receiveAnswer().body == "post hi")
        try client.send(
            "GET /later HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try other.receiveAnswer()
        #expect(try client.receiveAnswer().body == "later")
        #expect(try client.receiveAnswer().status == 100)
    }

    @Test("another expectation is refused")
    func otherExpectation() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n")
        #expect(try client.receiveAnswer().status == 417)
    }

    // MARK: By the head

    @Test(
        "what is refused by its head is answered before the body comes, and never asked to continue",
        arguments: [
            "Content-Length: 100", "Content-Length: 100000000", "Transfer-Encoding: chunked",
            "Expect: 100-continue\r\nContent-Length: 100",
        ])
    func refusedByHead(framing: String) async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /refused HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
        let answer = try client.receiveAnswer()
        #expect(answer.status == 403 && answer.body == "no")
        #expect(await server.server.statistics.requests == 0)
    }

    @Test("the body of a refused request is thrown away while it is short, and the connection goes on")
    func discarded() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let body = String(repeating: "GET /a HTTP/1.1\r\n", count: 100)
        for _ in 0..<3 {
            try client.send("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            #expect(try client.receiveAnswer().status == 403)
            try client.send(body + "GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try client.receiveAnswer().body == "get ")
        }
        #expect(await server.server.statistics.requests == 3)
        #expect(await server.server.keptBytes == 0)
    }

    @Test(
        "with a long body, one in chunks, or a client that waits for its 100, a refusal ends the connection",
        arguments: [
            "Content-Length: 1000000", "Transfer-Encoding: chunked", "Expect: 100-continue\r\nContent-Length: 100",
            "Connection: close\r\nContent-Length: 1",
        ])
    func refusedAndClosed(framing: String) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /refused HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
        #expect(try client.receiveAnswer()["Connection"] == "close")
        #expect(try client.receiveToEnd() == "")
    }

    @Test("refusals keep their place among the answers")
    func refusalOrder() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let refused = "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
        try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n" + refused + "GET /refused HTTP/1.1\r\nHost: h\r\n\r\n")
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try other.receiveAnswer()
        #expect(try (0..<3).map { _ in try client.receiveAnswer().body } == ["later", "no", "no"])
    }

    @Test("each request is decided on once, however its body comes")
    func admittedOnce() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            "GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
                + "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
                + "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        #expect(try (0..<4).map { _ in try client.receiveAnswer().body } == ["get ", "post hi", "post hi", "post "])
        #expect(await server.admitted == 4)
    }

    @Test("the account pays for a body while it arrives, and no longer")
    func heldBody() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        let part = String(repeating: "x", count: 30_000)
        for isCompleted in [true, false] {
            try client.send("POST /held HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n" + part)
            #expect(await eventually { server.account.held == 30_000 })
            #expect(await server.server.keptBytes == 30_000)
            if isCompleted { try client.send(part) } else { client.close() }
            if isCompleted { #expect(try client.receiveAnswer().status == 200) }
            #expect(await eventually { server.account.held == 0 && server.server.keptBytes == 0 })
        }
    }

    @Test("a body that the account has no room for is refused in its middle")
    func bodyWithoutRoom() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("POST /held HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<20 { try client.send("3a98\r\n" + String(repeating: "x", count: 15_000) + "\r\n") }
        let answer = try client.receiveAnswer()
        #expect(answer.status == 429 && answer["Connection"] == "close")
        #expect(await server.account.most <= 100_000)
        #expect(await eventually { server.account.held == 0 })
    }

    @Test("what a handler keeps with a connection stays with that connection")
    func userInfo() async throws {
        let (_, port) = await TestServer.start()
        let clients = [try RawClient(port: port), try RawClient(port: port)]
        for round in 1...3 {
            for client in clients {
                try client.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try client.receiveAnswer().body == "\(round)")
            }
        }
    }

    @Test("an upgrade to another protocol is ignored")
    func otherUpgrade() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        for _ in 0..<2 {
            try client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
            #expect(try client.receiveAnswer().body == "get ")
        }
    }

    @Test("large answers arrive whole, also when the client reads late")
    func largeAnswers() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port, receiveBuffer: 8192)
        try client.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 3))
        await Reactor.sleep(for: .milliseconds(100))
        for _ in 0..<3 { #expect(try client.receiveAnswer().body.utf8.count == 4_000_000) }
        try client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveAnswer().body == "get ")
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
        #expect(try client.receiveAnswer().status == 408)
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
        #expect(try client.receiveAnswer().status == 408)
    }

    @Test("a body that comes more slowly than the least rate is given up, one that keeps to it is not")
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
        #expect(try slow.receiveAnswer().status == 408)
        try steady.send(String(repeating: "x", count: 10_000))
        #expect(try steady.receiveAnswer().status == 200)
        #expect(await eventually { server.account.held == 0 })
    }

    @Test("a connection that asks for nothing is closed, and empty lines are nothing")
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

    @Test("while too much is kept for all, who is far behind is closed")
    func pressure() async throws {
        let (server, port) = await TestServer.start {
            $0.sweepInterval = .milliseconds(5)
            $0.keptBytes = 100_000
        }
        let behind = try RawClient(port: port, receiveBuffer: 4096)
        try behind.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 5))
        #expect(await eventually { server.server.statistics.slowReaders == 1 })
        #expect(await server.server.keptBytes == 0)
        let other = try RawClient(port: port)
        try other.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.receiveAnswer().body == "get ")
    }

    @Test("a connection without requests is closed after a while, one that waits for its answer is not")
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
        #expect(try waiting.receiveAnswer().body == "later")
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

    @Test("a client that asks on and on without reading is closed by the bound on its answers")
    func unreadBound() async throws {
        let (server, port) = await TestServer.start {
            $0.unreadAnswerBytes = 1 << 40
            $0.unreadAnswerBytesAtMost = 10_000_000
        }
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try client.send(String(repeating: "GET /big HTTP/1.1\r\nHost: h\r\n\r\n", count: 20))
        #expect(await eventually { server.server.openConnections == 0 })
    }

    // MARK: The server

    @Test("a connection too many is told so")
    func tooMany() async throws {
        let (server, port) = await TestServer.start { $0.connections = 2 }
        let clients = [try RawClient(port: port), try RawClient(port: port)]
        #expect(await eventually { server.server.openConnections == 2 })
        let third = try RawClient(port: port)
        let answer = try third.receiveAnswer()
        #expect(answer.status == 503 && answer["Retry-After"] == "1" && answer.body.contains("\"code\":\"overloaded\""))
        #expect(try third.receiveToEnd() == "")
        clients[0].close()
        #expect(await eventually { server.server.openConnections == 1 })
        let fourth = try RawClient(port: port)
        try fourth.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try fourth.receiveAnswer().status == 200)
    }

    @Test("draining finishes what is outstanding and accepts nothing new")
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
        let last = try half.receiveAnswer()
        #expect(last.body == "released" && last["Connection"] == "close")
        let answer = try busy.receiveAnswer()
        #expect(answer.body == "later" && answer["Connection"] == "close")
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

    @Test("an address that cannot be bound says why", arguments: ["nonsense", "127.0.0.1:99999", "203.0.113.1:1"])
    @Reactor func listenFails(address: String) async {
        let server = Server(await TestServer.start().0)
        #expect(throws: ListenError.self) { try server.listen(at: address) }
    }
}

@Reactor final class Flag {
    var value = false
    nonisolated init() {}
}
