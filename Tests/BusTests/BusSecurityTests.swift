import Bytes
import Glibc
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Bus

/// Tests of a bus with keys, with the real library. A frame that must not arrive is sent repeatedly until enough
/// permitted frames have arrived over the same path.
@Suite(.serialized) struct BusSecurityTests {
    init() { ReactorThread.start() }

    /// A key pair for each role, generated for this run.
    static let pairs = Dictionary(uniqueKeysWithValues: Role.allCases.map { ($0, BusKeyPair.random()) })

    static func keys(_ role: Role) -> BusKeys {
        BusKeys(role: role, own: pairs[role]!, publicKeys: pairs.mapValues(\.publicKey))
    }

    /// A peer that may not be on the bus.
    enum Intruder: String, CaseIterable, Sendable {
        case withoutKey, withOwnKey, withKeyOfOtherRole

        /// - Parameters:
        ///   - other: a role without the permission that the intruder needs.
        func listening(to role: Role, other: Role) -> Socket.Security {
            switch self {
            case .withoutKey: .plain
            case .withOwnKey: .client(.random(), server: pairs[role]!.publicKey)
            case .withKeyOfOtherRole: .client(pairs[other]!, server: pairs[role]!.publicKey)
            }
        }

        func publishing(other: Role) -> Socket.Security {
            switch self {
            case .withoutKey: .plain
            case .withOwnKey: .server(.random())
            case .withKeyOfOtherRole: .server(pairs[other]!)
            }
        }
    }

    static let group = SlotGroup(3)

    @Test("processes whose keys prove their roles exchange requests and responses", arguments: ["ipc", "tcp"])
    @Reactor func rightKeys(transport: String) async throws {
        let directory = BusTests.Directory()
        let isPath = transport == "ipc"
        let ports = (ingest: unusedPort(), store: unusedPort())
        let ingest = try Bus(
            bind: isPath ? directory.socket("ingest-0") : "tcp://127.0.0.1:\(ports.ingest)", keys: Self.keys(.ingest))
        let store = try Bus(
            bind: isPath ? directory.socket("store-0") : "tcp://127.0.0.1:\(ports.store)", keys: Self.keys(.store))
        defer { ingest.close(); store.close() }
        try ingest.follow(
            isPath ? directory.pattern("store") : [.tcp(host: "127.0.0.1", port: ports.store)], as: .store)
        try store.follow(
            isPath ? directory.pattern("ingest") : [.tcp(host: "127.0.0.1", port: ports.ingest)], as: .ingest)
        let responder = BusTests.Responder(store)
        #expect(await BusTests.ask(ingest, "hello") == "200 hello")
        #expect(responder.arrivals.first?.origin == ingest.instance)
        #expect(ingest.counters.connectionsRefused + store.counters.connectionsRefused == 0)
    }

    @Test("an intruder hears nothing of what a listener hears", arguments: Intruder.allCases)
    @Reactor func listening(intruder: Intruder) async throws {
        let directory = BusTests.Directory()
        let ingest = try Bus(bind: directory.socket("ingest-0"), keys: Self.keys(.ingest))
        let store = try Bus(bind: directory.socket("store-0"), keys: Self.keys(.store))
        defer { ingest.close(); store.close() }
        var overheard = 0
        // fanout has a valid key, but may not listen to ingest.
        let listener = try Subscriber(intruder.listening(to: .ingest, other: .fanout), in: Context()) { _ in
            overheard += 1
        }
        defer { listener.close() }
        listener.subscribe(.command(Self.group))
        try listener.connect(directory.socket("ingest-0"))

        var heard = 0
        store.subscribe(.command(Self.group))
        store.onFrame = { _ in heard += 1 }
        try store.follow(directory.pattern("ingest"), as: .ingest)
        let isHeard = await BusTests.eventually {
            ingest.append(to: .command(Self.group)) { $0.append([1]) }
            return heard >= 50 && (intruder == .withoutKey || ingest.counters.connectionsRefused > 0)
        }
        #expect(isHeard)
        #expect(overheard == 0)
    }

    @Test("an intruder who publishes where a store is expected is not heard", arguments: Intruder.allCases)
    @Reactor func publishing(intruder: Intruder) async throws {
        let directory = BusTests.Directory()
        let fanout = try Bus(bind: directory.socket("fanout-0"), keys: Self.keys(.fanout))
        let store = try Bus(bind: directory.socket("store-0"), keys: Self.keys(.store))
        let context = try Context()
        let impostor = try ZAPHandler(listeners: [Self.pairs[.fanout]!.publicKey: .fanout], in: context) {}
        let publisher = try Publisher(
            bind: directory.socket("store-1"), intruder.publishing(other: .receipt), in: context)
        defer { fanout.close(); store.close(); publisher.close(); impostor.close() }

        var origins: [Instance: Int] = [:]
        fanout.subscribe(.change(Self.group))
        fanout.onFrame = { origins[$0.origin, default: 0] += 1 }
        try fanout.follow(directory.pattern("store"), as: .store)
        var change = FrameWriter(topic: .change(Self.group), origin: .random())
        change.append { $0.append([2]) }
        var response = FrameWriter(topic: .response(fanout.instance), origin: .random())
        response.append { ResponseEntry.write(RequestNumber(0), status: 200, to: &$0) { _ in } }
        let isHeard = await BusTests.eventually {
            store.append(to: .change(Self.group)) { $0.append([1]) }
            publisher.send(change.bytes)
            publisher.send(response.bytes)
            return origins[store.instance, default: 0] >= 50 && fanout.connectedEndpoints.count == 2
        }
        #expect(isHeard)
        #expect(origins.count == 1)
        #expect(fanout.counters.lateResponses == 0)
    }

    @Test(
        "a process is heard only on the topics of the role that its key proves",
        arguments: [
            Topic.change(group), .privateChange(group), .digest(group), .status(group), .receiptDigest(group),
            .command(group), .receiptCommand(group), .mediaCommand(group), .served(group),
        ])
    @Reactor func topicsOfOthers(topic: Topic) async throws {
        let directory = BusTests.Directory()
        let sender = try Bus(bind: directory.socket("fanout-0"), keys: Self.keys(.fanout))
        let receiver = try Bus(bind: directory.socket("fanout-1"), keys: Self.keys(.fanout))
        defer { sender.close(); receiver.close() }
        var heard: [Topic] = []
        receiver.subscribe(topic)
        receiver.subscribe(.ephemeral(Self.group))
        receiver.onFrame = { heard.append($0.topic) }
        try receiver.follow(directory.pattern("fanout"), as: .fanout)
        let isHeard = await BusTests.eventually {
            sender.append(to: topic) { $0.append([1]) }
            sender.append(to: .ephemeral(Self.group)) { $0.append([1]) }
            return heard.count >= 20
        }
        #expect(isHeard)
        let mayPublish = topic.mayBePublished(by: .fanout)
        #expect(heard.contains(topic) == mayPublish)
    }

    @Test("the second part of a multipart message is not delivered, whatever its topic")
    @Reactor func severalParts() async throws {
        let directory = BusTests.Directory()
        let context = try Context()
        let zapHandler = try ZAPHandler(listeners: [Self.pairs[.fanout]!.publicKey: .fanout], in: context) {}
        let sender = try Socket(.publisher, .server(Self.pairs[.fanout]!), in: context)
        try sender.bind(directory.socket("fanout-0"))
        let receiver = try Bus(bind: directory.socket("fanout-1"), keys: Self.keys(.fanout))
        defer { zapHandler.close(); receiver.close() }
        var heard: [Topic] = []
        var refusals: Set<String> = []
        receiver.subscribe(.change(Self.group))
        receiver.subscribe(.ephemeral(Self.group))
        receiver.onFrame = { heard.append($0.topic) }
        receiver.onRefusal = { role, reason in refusals.insert("\(role!.rawValue): \(reason)") }
        try receiver.follow(directory.pattern("fanout"), as: .fanout)

        func frame(_ topic: Topic) -> [UInt8] {
            var writer = FrameWriter(topic: topic, origin: Instance(1))
            writer.append { $0.append([1]) }
            return Array(writer.bytes)
        }
        let own = frame(.ephemeral(Self.group)), others = frame(.change(Self.group))
        let isHeard = await BusTests.eventually {
            _ = sender.isReadable  // libzmq processes subscriptions here.
            sender.send(parts: [own, others])
            sender.send(parts: [own])
            return heard.count >= 20
        }
        #expect(isHeard)
        #expect(!heard.contains(.change(Self.group)))
        #expect(refusals == ["fanout: a multipart message"])
        #expect(receiver.counters.framesRefused >= 2)
    }

    @Test("a receipt service cannot respond to a request to a store")
    @Reactor func responsesOfOtherRoles() async throws {
        let directory = BusTests.Directory()
        let ingest = try Bus(bind: directory.socket("ingest-0"), keys: Self.keys(.ingest))
        let receipt = try Bus(bind: directory.socket("receipt-0"), keys: Self.keys(.receipt))
        defer { ingest.close(); receipt.close() }
        try ingest.follow(directory.pattern("receipt"), as: .receipt)
        try receipt.follow(directory.pattern("ingest"), as: .ingest)
        let responder = BusTests.Responder(receipt)
        #expect(await BusTests.ask(ingest, "for a store", deadline: .milliseconds(500)) == "timed out")
        #expect(!responder.arrivals.isEmpty)
        #expect(ingest.counters.lateResponses > 0)
    }

    @Test("the right process is heard at an address where a wrong one was", arguments: Intruder.allCases)
    @Reactor func successorOfIntruder(intruder: Intruder) async throws {
        let context = try Context()
        try await expectSuccessorHeard { fanout, address in
            let impostor = try ZAPHandler(listeners: [Self.pairs[.fanout]!.publicKey: .fanout], in: context) {}
            let publisher = try Publisher(
                bind: address, intruder.publishing(other: .receipt), in: context)
            #expect(await BusTests.eventually { fanout.failedHandshakes > 1 })
            publisher.close()
            impostor.close()
        }
    }

    @Test("a process that refused our key is heard again after it restarts with a newer list of keys")
    @Reactor func successorWithNewerList() async throws {
        var old = Self.pairs.mapValues(\.publicKey)
        old[.fanout] = BusKeyPair.random().publicKey
        try await expectSuccessorHeard { fanout, address in
            let store = try Bus(
                bind: address, keys: BusKeys(role: .store, own: Self.pairs[.store]!, publicKeys: old))
            #expect(await BusTests.eventually { store.counters.connectionsRefused > 0 })
            #expect(await BusTests.eventually { fanout.failedHandshakes > 0 })
            store.close()
        }
    }

    @Test("a peer that sent a frame beyond the limit is heard again")
    @Reactor func afterTooLargeFrame() async throws {
        let context = try Context()
        try await expectSuccessorHeard { fanout, address in
            let zapHandler = try ZAPHandler(listeners: [Self.pairs[.fanout]!.publicKey: .fanout], in: context) {}
            let publisher = try Publisher(bind: address, .server(Self.pairs[.store]!), in: context)
            var frame = FrameWriter(topic: .change(Self.group), origin: .random())
            frame.append { $0.append([1]) }
            #expect(
                await BusTests.eventually {
                    publisher.send(frame.bytes)
                    return fanout.counters.framesReceived > 0
                })
            var large = FrameWriter(topic: .change(Self.group), origin: .random())
            large.append { $0.append([UInt8](repeating: 0, count: Int(Socket.frameLimit))) }
            publisher.send(large.bytes)
            await Reactor.sleep(for: .milliseconds(200))
            publisher.close()
            zapHandler.close()
        }
    }

    /// Lets a fanout connect to `predecessor` at the address of a store, and then expects it to hear a real store
    /// there.
    @Reactor private func expectSuccessorHeard(
        after predecessor: @Reactor (Bus, _ address: String) async throws -> Void
    ) async throws {
        let port = unusedPort(), address = "tcp://127.0.0.1:\(port)"
        let directory = BusTests.Directory()
        let fanout = try Bus(bind: directory.socket("fanout-0"), keys: Self.keys(.fanout))
        defer { fanout.close() }
        fanout.subscribe(.change(Self.group))
        try fanout.follow([.tcp(host: "127.0.0.1", port: port)], as: .store)
        try await predecessor(fanout, address)

        // The address is free once libzmq has closed the predecessor's socket.
        var store: Bus?
        #expect(
            await BusTests.eventually {
                store = store ?? (try? Bus(bind: address, keys: Self.keys(.store)))
                return store != nil
            })
        defer { store?.close() }
        var origins: Set<Instance> = []
        fanout.onFrame = { origins.insert($0.origin) }
        let isHeard = await BusTests.eventually {
            store?.append(to: .change(Self.group)) { $0.append([1]) }
            return store.map { origins.contains($0.instance) } ?? false
        }
        #expect(isHeard)
    }

    @Test("a key survives conversion to text and back, and damaged text is rejected")
    func keyText() throws {
        let pair = BusKeyPair.random()
        #expect(BusKey(pair.secretKey.text) == pair.secretKey)
        #expect(BusKeyPair(secretKey: pair.secretKey)?.publicKey == pair.publicKey)
        #expect(BusKey(String(pair.publicKey.text.dropLast())) == nil)
        #expect(BusKey(pair.publicKey.text + "0") == nil)
        #expect(BusKey(String(repeating: " ", count: 40)) == nil)
    }
}
