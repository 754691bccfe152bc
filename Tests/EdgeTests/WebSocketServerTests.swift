import Reactor
import TestSupport
import Testing

@testable import Edge

@Suite struct WebSocketServerTests {
    private func open(
        _ change: @Sendable (inout ServerLimits) -> Void = { _ in }
    ) async throws -> (TestServer, RawClient) {
        let (server, port) = await TestServer.start(change)
        let client = try RawClient(port: port)
        #expect(try client.openWebSocket().status == 101)
        #expect(try client.receiveFrame().text == "welcome")
        return (server, client)
    }

    @Test("the handshake's response has the accept key and the subprotocol")
    func handshake() async throws {
        let (_, port) = await TestServer.start()
        let response = try RawClient(port: port).openWebSocket()
        #expect(response.status == 101 && response["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(response["Sec-WebSocket-Protocol"] == "parley.v1" && response["Upgrade"] == "websocket")
    }

    @Test("a client that names no subprotocol is served without one")
    func noSubprotocol() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(RawClient.handshake.replacing("Sec-WebSocket-Protocol: other, parley.v1\r\n", with: ""))
        let response = try client.receiveResponse()
        #expect(response.status == 101 && response["Sec-WebSocket-Protocol"] == nil)
    }

    @Test(
        "a wrong handshake is refused",
        arguments: [
            ("Version: 13", "Version: 12", 426), ("Sec-WebSocket-Version: 13\r\n", "", 426),
            ("dGhlIHNhbXBsZSBub25jZQ==", "short", 400), ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ!=", 400),
            ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 400), ("parley.v1", "parley.v2", 400),
            ("/v1/socket", "/elsewhere", 200), ("GET", "POST", 200), ("Upgrade: websocket\r\n", "", 200),
        ])
    func wrongHandshake(part: String, replacement: String, status: Int) async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(RawClient.handshake.replacing(part, with: replacement))
        let response = try client.receiveResponse()
        #expect(response.status == status)
        if status == 426 { #expect(response["Sec-WebSocket-Version"] == "13") }
    }

    @Test("a handler that admits no WebSocket responds 503")
    func notAdmitted() async throws {
        let (server, port) = await TestServer.start()
        await refuse(server)
        let response = try RawClient(port: port).openWebSocket()
        #expect(response.status == 503 && response["Retry-After"] == "1")
    }

    @Reactor private func refuse(_ server: TestServer) { server.isAdmitting = false }

    @Test("frames that arrive together with the handshake, and after a completed request, are read")
    func together() async throws {
        let (_, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send(
            Array("GET /a HTTP/1.1\r\nHost: h\r\n\r\n\(RawClient.handshake)".utf8) + clientFrame(1, "early"))
        #expect(try client.receiveResponse().body == "get ")
        #expect(try client.receiveResponse().status == 101)
        #expect(try client.receiveFrame().text == "welcome")
        #expect(try client.receiveFrame().text == "echo early")
    }

    @Test("an upgrade behind an outstanding request is refused")
    func behindRequest() async throws {
        let (server, port) = await TestServer.start()
        let client = try RawClient(port: port)
        try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n\(RawClient.handshake)")
        #expect(await eventually { server.server.statistics.refusedRequests == 1 })
        let other = try RawClient(port: port)
        try other.send("GET /release HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveResponse().body == "later")
        #expect(try client.receiveResponse().status == 400)
    }

    @Test("text, fragments and pings get their replies")
    func conversation() async throws {
        let (_, client) = try await open()
        try client.send(clientFrame(1, "hällo"))
        #expect(try client.receiveFrame() == RawClient.Frame(opcode: 1, payload: Array("echo hällo".utf8)))
        try client.send(clientFrame(1, "a", isFinal: false) + clientFrame(9, "now") + clientFrame(0, "b"))
        #expect(try client.receiveFrame() == RawClient.Frame(opcode: 10, payload: Array("now".utf8)))
        #expect(try client.receiveFrame().text == "echo ab")
        let large = String(repeating: "x", count: 90_000)
        try client.send(clientFrame(1, large))
        #expect(try client.receiveFrame().text == "echo " + large)
    }

    @Test("the limit of a message can be changed between two messages of one read")
    func changedLimit() async throws {
        let (_, client) = try await open()
        try client.send(clientFrame(1, "small") + clientFrame(1, "0123456789") + clientFrame(1, "0123456789a"))
        #expect(try client.receiveFrame().text == "echo 0123456789")
        #expect(try client.receiveFrame().code == 1009)
        #expect(try client.receiveToEnd() == "")
    }

    @Test(
        "a violation gets a close frame with its code, and the connection ends",
        arguments: [
            (clientFrame(1, Array("a".utf8), isMasked: false), 1002), (clientFrame(2, [1]), 1003),
            (clientFrame(1, [0xFF]), 1007), (clientFrame(0, "a"), 1002),
        ])
    func violation(bytes: [UInt8], code: Int) async throws {
        let (server, client) = try await open()
        try client.send(bytes + [UInt8](repeating: 0, count: 100_000))
        let frame = try client.receiveFrame()
        #expect(frame.opcode == 8 && frame.code == code)
        #expect(try client.receiveToEnd() == "")
        client.close()
        #expect(await eventually { server.socketsClosed == 1 && server.server.openConnections == 0 })
    }

    @Test("a client's close frame is echoed with its code, and the server closes")
    func clientCloses() async throws {
        let (server, client) = try await open()
        try client.send(clientFrame(1, "last") + clientFrame(8, [0x0F, 0xA0]) + clientFrame(1, "too late"))
        #expect(try client.receiveFrame().text == "echo last")
        #expect(try client.receiveFrame() == RawClient.Frame(opcode: 8, payload: [0x0F, 0xA0]))
        #expect(try client.receiveToEnd() == "")
        #expect(await eventually { server.socketsClosed == 1 })
    }

    @Test("the server's close waits for the client's, up to the timeout", arguments: [true, false])
    func serverCloses(responses: Bool) async throws {
        let (server, client) = try await open {
            $0.sweepInterval = .milliseconds(5)
            $0.closeTimeout = responses ? .seconds(60) : .milliseconds(50)
        }
        try client.send(clientFrame(1, "close"))
        let frame = try client.receiveFrame()
        #expect(frame.code == 1001 && frame.payload.dropFirst(2).elementsEqual("as asked".utf8))
        if responses { try client.send(clientFrame(8, [0x03, 0xE9])) }
        #expect(try client.receiveToEnd() == "")
        #expect(await eventually { server.socketsClosed == 1 })
    }

    @Test("a client that vanishes is detected, and its handler called once")
    func vanishes() async throws {
        let (server, client) = try await open()
        client.close()
        #expect(await eventually { server.socketsClosed == 1 && server.server.openConnections == 0 })
    }

    @Test("pings are sent, and a peer that stays silent is closed")
    func pings() async throws {
        let (server, client) = try await open {
            $0.sweepInterval = .milliseconds(5)
            $0.pingInterval = .milliseconds(40)
            $0.silenceTimeout = .seconds(3)  // Long for a busy machine to answer a ping.
        }
        for _ in 0..<6 {
            #expect(try client.receiveFrame() == RawClient.Frame(opcode: 9, payload: []))
            try client.send(clientFrame(10, []))
        }
        #expect(await server.socketsClosed == 0)
        while let frame = try? client.receiveFrame() { #expect(frame.opcode == 9) }
        #expect(await eventually { server.socketsClosed == 1 })
    }

    @Test("a peer that does not read gets a last frame and is closed, whole frames only")
    func tooSlow() async throws {
        let (server, client) = try await open {
            $0.webSocketQueueBytes = 1_000_000
            $0.closeTimeout = .seconds(60)  // Long for a busy machine to read it all.
        }
        try client.send(clientFrame(1, "flood"))
        #expect(await eventually { server.socketsTooSlow == 1 })
        var frames: [RawClient.Frame] = []
        while frames.last?.opcode != 8, let frame = try? client.receiveFrame() { frames.append(frame) }
        #expect(frames.last?.code == 1008)
        #expect(frames.dropLast().last?.text == "bye")
        #expect(frames.dropLast(2).allSatisfy { $0.text == "0123456789abcdef" })
        client.close()
        #expect(await eventually { server.socketsClosed == 1 && server.socketsTooSlow == 1 })
    }

    @Test("so it is if the frame that was begun is longer than all that may wait")
    func tooLong() async throws {
        let (server, client) = try await open {
            $0.webSocketQueueBytes = 1_000_000
            $0.closeTimeout = .seconds(60)
        }
        await broadcast(server, count: 1, bytes: 20_000_000)  // More than the kernel takes.
        #expect(await server.socketsTooSlow == 1)
        #expect(try client.receiveFrame().text.utf8.count == 20_000_000)
        #expect(try client.receiveFrame().text == "bye")
        #expect(try client.receiveFrame().code == 1008)
        client.close()
        #expect(await eventually { server.socketsClosed == 1 && server.socketsTooSlow == 1 })
    }

    @Test("after a pause all messages of the peer arrive in order, and it is not considered silent")
    func pause() async throws {
        let (server, client) = try await open {
            $0.sweepInterval = .milliseconds(5)
            $0.silenceTimeout = .milliseconds(100)
        }
        try client.send(clientFrame(1, "pause") + clientFrame(1, "one") + clientFrame(9, "p") + clientFrame(1, "two"))
        #expect(await eventually { server.sockets.first?.isPaused == true })
        try client.send(clientFrame(1, "three"))
        try await Task.sleep(for: .milliseconds(300))
        #expect(await server.socketsClosed == 0)
        await resumeAndPauseAgain(server)
        #expect(await server.sockets.first?.isPaused == true)
        await resume(server)
        let frames = try (0..<4).map { _ in try client.receiveFrame() }
        #expect(
            frames.map(\.text) == ["echo one", "p", "echo two", "echo three"] && frames.map(\.opcode) == [1, 10, 1, 1])
    }

    @Reactor private func resume(_ server: TestServer) { server.sockets[0].resumeReading() }

    @Reactor private func resumeAndPauseAgain(_ server: TestServer) {
        server.sockets[0].resumeReading()
        server.sockets[0].pauseReading()
    }

    @Test("a peer closed in the middle of a message releases its memory at once, and gets the reason")
    func sentAway() async throws {
        let (server, client) = try await open { $0.webSocketMessageBytes = 1_000_000 }
        try client.send(Array(clientFrame(1, String(repeating: "x", count: 60_000)).dropLast(100)))
        #expect(await eventually { server.sockets.first?.heldInputBytes ?? 0 > 50_000 })
        await sendAway(server)
        #expect(await server.sockets.first?.heldInputBytes == 0)
        #expect(try client.receiveFrame().text == "bye")
        #expect(try client.receiveFrame().code == 1008)
        client.close()
        #expect(await eventually { server.socketsClosed == 1 })
    }

    @Reactor private func sendAway(_ server: TestServer) {
        Array("bye".utf8).withUnsafeBytes { server.sockets[0].send(.text($0)) }
        server.sockets[0].close(.policyViolation)
    }

    @Test("a peer that reads is not slow because one turn exceeds its queue")
    func burst() async throws {
        let (server, client) = try await open { $0.webSocketQueueBytes = 20_000 }
        await broadcast(server, count: 6, bytes: 10_000)
        for number in 0..<6 {
            let text = try client.receiveFrame().text
            #expect(text.utf8.count == 10_000 && text.hasPrefix("number \(number) "))
        }
        #expect(await server.socketsTooSlow == 0)
    }

    @Test("a message to many is one buffer, and each peer gets all of it in order")
    func broadcast() async throws {
        let (server, port) = await TestServer.start()
        let clients = try (0..<50).map { _ in try RawClient(port: port) }
        for client in clients { #expect(try client.openWebSocket().status == 101) }
        #expect(await eventually { server.sockets.count == 50 })
        await broadcast(server, count: 100)
        for client in clients {
            let texts = try (0..<101).map { _ in try client.receiveFrame().text }
            #expect(texts == ["welcome"] + (0..<100).map { "number \($0)" })
        }
    }

    @Reactor private func broadcast(_ server: TestServer, count: Int, bytes: Int = 0) {
        for number in 0..<count {
            let text = "number \(number)"
            let padding = bytes > 0 ? " " + String(repeating: "x", count: bytes - text.utf8.count - 1) : ""
            let frame = Array((text + padding).utf8).withUnsafeBytes { WebSocketFrame.text($0) }
            for socket in server.sockets { socket.send(frame) }
        }
    }
}
