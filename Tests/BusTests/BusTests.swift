import Bytes
import Glibc
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Bus

/// Tests with real sockets, over paths in a directory of their own and over the loopback interface.
@Suite(.serialized) struct BusTests {
    init() { ReactorThread.start() }

    static let slot = Slot(0x35)

    /// A directory for the sockets of one test, removed with the test.
    final class Directory {
        let path: String

        init() {
            var template = Array("/tmp/parley-bus-XXXXXX".utf8CString)
            path = String(cString: mkdtemp(&template)!)
        }

        deinit {
            for match in AddressLookup.matches(path + "/*") { unlink(String(match.dropFirst(6))) }
            rmdir(path)
        }

        func socket(_ name: String) -> String { "ipc://\(path)/\(name).sock" }
        func pattern(_ name: String) -> [Endpoint] { [.ipc(pattern: "\(path)/\(name)-*.sock")] }
    }

    /// A peer that responds to every request with its fields, except for the next `responsesToDrop`.
    @Reactor
    final class Responder {
        let bus: Bus
        var arrivals: [RequestKey] = []
        var admissions: [Admission] = []
        var responsesToDrop = 0

        init(_ bus: Bus) {
            self.bus = bus
            bus.subscribe(.command(slot.group))
            bus.onFrame = { [unowned self] frame in
                for entry in frame.entries {
                    let request = try! RequestEntry(entry)
                    let key = RequestKey(origin: frame.origin, number: request.number)
                    arrivals.append(key)
                    answer(key, request.fields)
                }
            }
        }

        private func answer(_ key: RequestKey, _ fields: UnsafeRawBufferPointer) {
            if responsesToDrop > 0 {
                responsesToDrop -= 1
                return
            }
            admissions.append(bus.admit(key))
            bus.respond(to: key, status: 200) { $0.append(fields) }
        }
    }

    @Reactor static func ask(_ bus: Bus, _ text: String, deadline: Duration = .seconds(60)) async -> String {
        let outcome = await bus.request(.history, in: slot, deadline: deadline) { $0.append(utf8: text) }
        switch outcome {
        case .response(let response):
            return "\(response.status) \(String(decoding: response.payload.bytes, as: UTF8.self))"
        case .timedOut: return "timed out"
        case .full: return "full"
        }
    }

    @Reactor static func eventually(_ condition: () -> Bool) async -> Bool {
        for _ in 0..<12_000 where !condition() { await Reactor.sleep(for: .milliseconds(5)) }
        return condition()
    }

    @Test("the process that subscribed to the slot responds to a request", arguments: ["ipc", "tcp"])
    @Reactor func answered(transport: String) async throws {
        let directory = Directory()
        let isPath = transport == "ipc"
        let ports = (client: unusedPort(), server: unusedPort())
        let client = try Bus(bind: isPath ? directory.socket("client-0") : "tcp://127.0.0.1:\(ports.client)")
        let server = try Bus(bind: isPath ? directory.socket("server-0") : "tcp://127.0.0.1:\(ports.server)")
        defer { client.close(); server.close() }
        try client.follow(isPath ? directory.pattern("server") : [.tcp(host: "localhost", port: ports.server)])
        try server.follow(isPath ? directory.pattern("client") : [.tcp(host: "127.0.0.1", port: ports.client)])
        let responder = Responder(server)
        #expect(await Self.ask(client, "hello") == "200 hello")
        #expect(responder.arrivals.first?.origin == client.instance)
        #expect(client.requestsInFlight == 0)
        #expect(server.inboundRequestsInFlight == 0)
    }

    @Test("a request is repeated under the same number until its response arrives")
    @Reactor func lostResponses() async throws {
        let directory = Directory()
        let client = try Bus(bind: directory.socket("client-0")), server = try Bus(bind: directory.socket("server-0"))
        defer { client.close(); server.close() }
        try client.follow(directory.pattern("server"))
        try server.follow(directory.pattern("client"))
        let responder = Responder(server)
        #expect(await Self.ask(client, "first") == "200 first")
        responder.arrivals = []
        responder.responsesToDrop = 2
        #expect(await Self.ask(client, "again") == "200 again")
        // More on a busy machine, where a repetition crosses the response.
        #expect(responder.arrivals.count >= 3)
        #expect(Set(responder.arrivals).count == 1)
        #expect(client.counters.requestsRepeated >= 2)
    }

    @Test("what waits in a slot is published again when its owner begins to serve it, not when its wait is over")
    @Reactor func served() async throws {
        let directory = Directory()
        let client = try Bus(bind: directory.socket("client-0")), server = try Bus(bind: directory.socket("server-0"))
        defer { client.close(); server.close() }
        try client.follow(directory.pattern("server"))
        try server.follow(directory.pattern("client"))
        let responder = Responder(server)
        var isAnswered = false
        _ = client.requests.start(
            { number in
                var entry = ByteBuffer()
                RequestEntry.write(number, Self.slot, kind: StoreRequestKind.history.rawValue, to: &entry) { _ in }
                return PendingRequest(
                    topic: .command(Self.slot.group), slot: Self.slot, entry: Array(entry.bytes), sent: nil,
                    completion: { _ in isAnswered = true })
            }, firstWait: .seconds(3_600), deadline: .seconds(7_200), now: .now)
        #expect(await Self.ask(client, "first") == "200 first")

        func announce(_ served: ServedSlot) async {
            server.append(to: .served(Self.slot.group)) { served.write(to: &$0) }
            // Behind it on the same connection, and some ticks of the timers.
            for _ in 0..<10 { #expect(await Self.ask(client, "next") == "200 next") }
            await Reactor.sleep(for: TimerWheel.tick * 5)
        }
        await announce(ServedSlot(Slot(Self.slot.number + 1), requests: .command(Self.slot.group)))
        await announce(ServedSlot(Self.slot, requests: .receiptCommand(Self.slot.group)))
        #expect(!isAnswered, "another slot, and another service")
        await announce(ServedSlot(Self.slot, requests: .command(Self.slot.group)))
        #expect(await Self.eventually { isAnswered })
        #expect(client.requestsInFlight == 0)
        _ = responder
    }

    @Test("a request without a response times out, and its late response does nothing")
    @Reactor func lateResponse() async throws {
        let directory = Directory()
        let client = try Bus(bind: directory.socket("client-0")), server = try Bus(bind: directory.socket("server-0"))
        defer { client.close(); server.close() }
        try client.follow(directory.pattern("server"))
        try server.follow(directory.pattern("client"))
        let responder = Responder(server)
        #expect(await Self.ask(client, "first") == "200 first")
        responder.responsesToDrop = .max
        responder.arrivals = []
        // On a busy machine the first may time out before it was sent.
        while responder.arrivals.isEmpty {
            #expect(await Self.ask(client, "late", deadline: .milliseconds(150)) == "timed out")
        }
        let late = try #require(responder.arrivals.first)
        server.respond(to: late, status: 200)
        #expect(await Self.eventually { client.counters.lateResponses == 1 })
    }

    @Test("processes are connected as they appear and disconnected as they vanish")
    @Reactor func peersComeAndGo() async throws {
        let directory = Directory()
        let client = try Bus(bind: directory.socket("client-0"))
        defer { client.close() }
        try client.follow(directory.pattern("server"))
        #expect(await Self.ask(client, "nobody", deadline: .milliseconds(50)) == "timed out")

        var server: Bus? = try Bus(bind: directory.socket("server-0"))
        try server!.follow(directory.pattern("client"))
        var responder: Responder? = Responder(server!)
        #expect(await Self.ask(client, "somebody") == "200 somebody")
        #expect(client.connectedEndpoints == [directory.socket("server-0")])

        server!.close()
        (server, responder) = (nil, nil)
        _ = responder
        #expect(await Self.eventually { client.connectedEndpoints.isEmpty })
    }

    @Test("the entries of a turn and topic travel as one frame, and beyond the limit as several in order")
    @Reactor func framePerTurn() async throws {
        let directory = Directory()
        let sender = try Bus(bind: directory.socket("sender-0")),
            receiver = try Bus(bind: directory.socket("receiver-0"))
        defer { sender.close(); receiver.close() }
        var frames: [[Int]] = []
        receiver.subscribe(.change(SlotGroup(1)))
        receiver.onFrame = { frame in frames.append(frame.entries.map(\.count)) }
        try receiver.follow(directory.pattern("sender"))
        let connected = await Self.eventually {
            sender.append(to: .change(SlotGroup(1))) { _ in }
            return !frames.isEmpty
        }
        #expect(connected)
        await Reactor.sleep(for: .milliseconds(50))
        frames = []

        for size in 1...3 { sender.append(to: .change(SlotGroup(1))) { $0.append([UInt8](repeating: 0, count: size)) } }
        sender.append(to: .change(SlotGroup(2))) { $0.append([9]) }
        #expect(await Self.eventually { !frames.isEmpty })
        #expect(frames == [[1, 2, 3]])

        frames = []
        let large = [UInt8](repeating: 1, count: Outbox.frameLimit / 2)
        for _ in 0..<5 { sender.append(to: .change(SlotGroup(1))) { $0.append(large) } }
        #expect(await Self.eventually { frames.joined().count == 5 })
        #expect(frames.map(\.count) == [2, 2, 1])
    }

    @Test("bytes that are not a frame are counted and otherwise ignored", arguments: UInt64(0)..<5)
    @Reactor func damagedFrames(seed: UInt64) async throws {
        let directory = Directory()
        var random = SeededRandom(seed: seed)
        let stranger = try Publisher(bind: directory.socket("stranger-0"), in: Context())
        let bus = try Bus(bind: directory.socket("bus-0"))
        defer { stranger.close(); bus.close() }
        bus.subscribe(.change(SlotGroup(0)))
        try bus.follow(directory.pattern("stranger"))
        var received = 0
        bus.onFrame = { frame in received += 1 }
        let damaged = await Self.eventually {
            var bytes: [UInt8] = [0x4D, 0]
            for _ in 0..<Int.random(in: 0...40, using: &random) { bytes.append(.random(in: 0...3, using: &random)) }
            bytes.withUnsafeBytes { stranger.send($0) }
            return bus.counters.framesRefused >= 100
        }
        #expect(damaged, "seed \(seed)")
        #expect(bus.counters.framesReceived == bus.counters.framesRefused + received)
    }

    @Test("a frame of the next version is refused and counted; the peer's frames of this one are read")
    @Reactor func nextVersion() async throws {
        let directory = Directory()
        let newer = try Publisher(bind: directory.socket("newer-0"), in: Context())
        let bus = try Bus(bind: directory.socket("bus-0"))
        defer { newer.close(); bus.close() }
        bus.subscribe(.change(SlotGroup(0)))
        try bus.follow(directory.pattern("newer"))
        var entries: [[UInt8]] = []
        bus.onFrame = { frame in entries += frame.entries.map(Array.init) }
        var writer = FrameWriter(topic: .change(SlotGroup(0)), origin: Instance(1))
        writer.append { $0.append([7]) }
        let now = Array(writer.bytes)
        let next = now[..<2] + [2] + now[3...]
        let bothCame = await Self.eventually {
            for frame in [Array(next), now] { frame.withUnsafeBytes { newer.send($0) } }
            return bus.counters.framesRefused > 0 && !entries.isEmpty
        }
        #expect(bothCame)
        #expect(entries.allSatisfy { $0 == [7] })
        #expect(bus.counters.framesReceived == bus.counters.framesRefused + entries.count)
    }

    @Test("frames that arrive in a burst beyond a turn's budget are all received")
    @Reactor func burst() async throws {
        let directory = Directory()
        let sender = try Bus(bind: directory.socket("sender-0")),
            receiver = try Bus(bind: directory.socket("receiver-0"))
        defer { sender.close(); receiver.close() }
        var numbers: [UInt32] = []
        receiver.subscribe(.digest(SlotGroup(0)))
        receiver.onFrame = { frame in
            for entry in frame.entries where entry.count == 4 {
                numbers.append(UInt32(bigEndian: entry.loadUnaligned(as: UInt32.self)))
            }
        }
        try receiver.follow(directory.pattern("sender"))
        let connected = await Self.eventually {
            sender.append(to: .digest(SlotGroup(0))) { _ in }
            return receiver.counters.framesReceived > 0
        }
        #expect(connected)
        for number in 0..<UInt32(5_000) {
            sender.append(to: .digest(SlotGroup(0))) { $0.append(bigEndian: number) }
            sender.flush()
        }
        #expect(await Self.eventually { numbers.count == 5_000 })
        #expect(numbers == Array(0..<5_000))
    }
}
