import Bus
import Bytes
import Models
import Reactor
import Wire

/// Whether messages are being written at present, by the digests of the stores. Receipts then leave capacity for them.
@Reactor
final class MessageTraffic {
    /// Two intervals between digests.
    private static let quiet = Duration.milliseconds(500)
    /// The time after a digest with changes during which the next ones need not be read.
    private static let pause = Duration.milliseconds(200)

    private var latest: MonotonicTime?

    var isFlowing: Bool { latest.map { .now - $0 < Self.quiet } ?? false }

    func follow(_ bus: Bus) { for group in SlotGroup.all { bus.subscribe(.digest(group)) } }

    /// Reads a frame with digests of a store.
    func receive(_ frame: InboundFrame) {
        if let latest, .now - latest < Self.pause { return }
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            // Users' private streams do not count: receipts themselves move them.
            if let digest = try? DigestEntry(from: &reader), digest.moved.contains(where: \.isOfConversation) {
                return latest = .now
            }
        }
    }
}

extension StreamPosition {
    fileprivate var isOfConversation: Bool { if case .conversation = key { true } else { false } }
}
