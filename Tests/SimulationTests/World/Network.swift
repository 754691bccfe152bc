import Bus
import Bytes
import Reactor
import Wire

/// The bus between the processes. Frames are lost, repeated, delayed and reordered, and do not cross partitions.
@Reactor
final class Network {
    private unowned let world: World
    private var media: [Medium] = []
    var loss = 0.0
    var repetition = 0.0
    var overtaking = 0.0
    /// The delay of late frames, in milliseconds.
    var delay = 0
    /// Pairs of processes that cannot reach each other.
    var partitions: Set<Set<ObjectIdentifier>> = []

    init(_ world: World) { self.world = world }

    func add(_ medium: Medium) { media.append(medium) }
    func remove(_ medium: Medium) { media.removeAll { $0 === medium } }

    func heal() { partitions = [] }

    /// Returns how long a publisher takes to learn of a subscription.
    func subscriptionDelay() -> Duration {
        world.fault(0.3) ? world.milliseconds(1...300) : world.microseconds(50...500)
    }

    func after(_ delay: Duration, _ body: @escaping @Reactor () -> Void) { world.after(delay, body) }

    func publish(_ frame: [UInt8], from sender: Medium) {
        guard !isDropped(frame) else { return }
        for medium in media where medium !== sender && medium.hears(frame) {
            if isSeparated(sender, medium) || world.fault(loss) {
                world.note("lost: \(name(of: frame)) of \(sender.node?.number ?? 0) to \(medium.node?.number ?? 0)")
                continue
            }
            for _ in 0..<(world.fault(repetition) ? 2 : 1) { deliver(frame, from: sender, to: medium) }
        }
    }

    private func deliver(_ frame: [UInt8], from sender: Medium, to medium: Medium) {
        var time = world.now + world.microseconds(30...400)
        if delay > 0, world.fault(0.2) { time = time + world.milliseconds(1...delay) }
        if !world.fault(overtaking) { time = medium.arrival(from: sender, time) }
        world.at(time) { [weak self, weak medium] in
            guard let self, let medium, let node = medium.node, !isSeparated(sender, medium) else { return }
            world.note("\(name(of: frame)) of \(sender.node?.number ?? 0) reaches \(node.kind) \(node.number)")
            node.turn { frame.withUnsafeBytes { node.bus.receive($0) } }
        }
    }

    private func name(of frame: [UInt8]) -> String { "\(Character(UnicodeScalar(frame[0])))\(frame[1])" }

    private func isSeparated(_ one: Medium, _ other: Medium) -> Bool {
        guard !partitions.isEmpty, let one = one.node, let other = other.node else { return false }
        return partitions.contains([ObjectIdentifier(one), ObjectIdentifier(other)])
    }

    private func isDropped(_ frame: [UInt8]) -> Bool {
        switch world.mutation {
        case .digestsAreLost: frame[0] == UInt8(ascii: "D") || frame[0] == UInt8(ascii: "E")
        default: false
        }
    }
}

/// The sockets of one process.
@Reactor
final class Medium: FramePublisher, FrameSubscriber {
    weak var node: Node?
    var isOpen = true
    private let instance: Instance
    private unowned let network: Network
    /// Counts of subscriptions by the first two bytes of a frame.
    private var wanted: [UInt16: Int] = [:]
    private var heard: Set<UInt16> = []
    private var lines: [ObjectIdentifier: Line] = [:]

    init(_ instance: Instance, _ network: Network) {
        self.instance = instance
        self.network = network
        network.add(self)
    }

    func send(_ frame: UnsafeRawBufferPointer) { network.publish(Array(frame), from: self) }

    func subscribe(_ topic: Topic) {
        guard let key = Self.key(topic) else { return }
        wanted[key, default: 0] += 1
        network.after(network.subscriptionDelay()) { [weak self] in
            if let self, wanted[key] != nil { heard.insert(key) }
        }
    }

    func unsubscribe(_ topic: Topic) {
        guard let key = Self.key(topic), let count = wanted[key] else { return }
        wanted[key] = count > 1 ? count - 1 : nil
        if count == 1 { heard.remove(key) }
    }

    func close() { isOpen = false }

    func hears(_ frame: [UInt8]) -> Bool {
        guard isOpen, frame.count > 9 else { return false }
        if frame[0] == UInt8(ascii: "A") {
            return frame[1..<9].reduce(0 as UInt64) { $0 << 8 | UInt64($1) } == instance.number
        }
        return heard.contains(UInt16(frame[0]) << 8 | UInt16(frame[1]))
    }

    func arrival(from sender: Medium, _ time: MonotonicTime) -> MonotonicTime {
        lines[ObjectIdentifier(sender), default: Line()].arrival(time)
    }

    /// Returns nil for responses, which reach their requester without a subscription.
    private static func key(_ topic: Topic) -> UInt16? {
        if case .response = topic { return nil }
        var prefix = ByteBuffer(capacity: 16)
        topic.encode(into: &prefix)
        return UInt16(prefix.bytes[0]) << 8 | UInt16(prefix.bytes[1])
    }
}
