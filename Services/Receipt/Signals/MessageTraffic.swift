import Bus
import Bytes
import Models
import Reactor
import Wire

/// Whether messages are being written just now, as the stores' digests tell: then receipts leave room for them.
@Reactor
final class MessageTraffic {
    /// Two digests apart.
    private static let quiet = Duration.milliseconds(500)
    /// For so long after a digest that told of a change the next ones need not be read.
    private static let pause = Duration.milliseconds(200)

    private var latest: MonotonicTime?

    var isFlowing: Bool { latest.map { .now - $0 < Self.quiet } ?? false }

    func follow(_ bus: Bus) { for group in SlotGroup.all { bus.subscribe(.digest(group)) } }

    /// A frame with digests of a store.
    func receive(_ frame: InboundFrame) {
        if let latest, .now - latest < Self.pause { return }
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            // Not users' private streams: receipts themselves move those.
            if let digest = try? DigestEntry(from: &reader), digest.moved.contains(where: \.isOfConversation) {
                return latest = .now
            }
        }
    }
}

extension StreamPosition {
    fileprivate var isOfConversation: Bool { if case .conversation = key { true } else { false } }
}
