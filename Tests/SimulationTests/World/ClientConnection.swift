import Bytes
import Edge
import Reactor

@testable import Fanout
@testable import ReactorTransport

/// A WebSocket from a client to a fanout. It is ordered, delayed, and sometimes broken, which loses what is in flight.
@Reactor
final class ClientConnection: SessionSocket {
    private weak var client: Client?
    private let node: Node
    private let gateway: Gateway
    private unowned let world: World
    private var decoder = ServerFrameDecoder()
    private var towards = Line()
    private var back = Line()
    private var isBroken = false
    /// What the client sent while the server was not reading. Nil means that the server is reading.
    private var unread: [String]?

    // SessionSocket
    var userInfo: AnyObject?
    private(set) var isOpen = true
    var maximumMessageBytes = 0
    var queuedBytes: Int { 0 }
    var heldInputBytes: Int { 0 }
    var announcedInputBytes: Int { 0 }
    private(set) var isCongested = false

    init(_ client: Client, _ node: Node, _ gateway: Gateway, _ world: World) {
        self.client = client
        self.node = node
        self.gateway = gateway
        self.world = world
    }

    func open(_ hello: String) {
        world.at(towards.arrival(world.now + delay)) { [self] in
            guard node.isAlive else { return abort() }
            node.turn { [self] in gateway.opened(self as any SessionSocket) }
        }
        say(hello)
        watch()
    }

    /// Lets the client notice a dead server after some time.
    private func watch() {
        world.after(.milliseconds(300)) { [weak self] in
            guard let self, !isBroken else { return }
            if node.isAlive { watch() } else { abort() }
        }
    }

    private var delay: Duration { world.fault(0.05) ? world.milliseconds(1...200) : world.microseconds(50...800) }

    func say(_ text: String) {
        world.at(towards.arrival(world.now + delay)) { [self] in
            node.turn { [self] in
                guard !isBroken else { return }
                hear(text)
            }
        }
    }

    private func hear(_ text: String) {
        guard isOpen else { return }
        guard unread == nil else { return unread!.append(text) }
        Array(text.utf8).withUnsafeBytes { gateway.received($0, from: self as any SessionSocket) }
        if isOpen { gateway.decoded(otherFrames: 0, from: self as any SessionSocket) }
    }

    /// Breaks the connection. Each side notices on its own.
    func abort() {
        guard !isBroken else { return }
        isBroken = true
        client?.lost(self)
        world.after(world.fault(0.3) ? world.milliseconds(1...500) : .milliseconds(1)) { [self] in
            node.turn { [self] in closeHere() }
        }
    }

    private func closeHere() {
        guard isOpen else { return }
        isOpen = false
        gateway.closed(self as any SessionSocket)
        userInfo = nil
    }

    // MARK: The server's side

    func send(_ frame: WebSocketFrame) {
        guard isOpen else { return }
        congest()
        world.at(back.arrival(world.now + delay)) { [weak self] in self?.arrive(frame) }
    }

    /// Sometimes makes the client read slowly, then take everything later.
    private func congest() {
        guard !isCongested, world.fault(0.05) else { return }
        isCongested = true
        world.after(world.milliseconds(1...300)) { [weak self] in
            guard let self else { return }
            node.turn { [self] in
                isCongested = false
                if isOpen { gateway.drained(self as any SessionSocket) }
            }
        }
    }

    func pauseReading() { if unread == nil { unread = [] } }

    func resumeReading() {
        Reactor.atEndOfTurn { [self] in
            let texts = unread ?? []
            unread = nil
            for text in texts { hear(text) }
        }
    }

    func close(_: WebSocketCloseCode) {
        world.at(back.arrival(world.now + delay)) { [weak self] in self?.abort() }
    }

    private func arrive(_ frame: WebSocketFrame) {
        guard !isBroken, let client else { return }
        do throws(ServerFrameDecoder.Violation) {
            try decoder.decode(frame.bytes) { event, payload in
                if case .text = event { client.receive(payload) }
            }
        } catch {
            world.violated("a frame breaks the protocol: \(error.reason)")
        }
    }
}
