import Bytes
import Wire

/// Collects the entries of a turn by topic. One frame per topic and turn costs a third less than one frame per entry.
struct Outbox {
    /// The size in bytes at which a frame is sent at once. No frame exceeds this by more than one entry.
    static let frameLimit = 256 << 10
    /// Buffers that grew beyond this many bytes are released instead of kept for the next turn.
    private static let keptLimit = 64 << 10
    /// The most instances whose response frames are kept for the next turn.
    private static let keptResponses = 256

    final class Frame {
        var writer: FrameWriter
        init(_ topic: Topic, _ origin: Instance) { writer = FrameWriter(topic: topic, origin: origin) }
    }

    private let origin: Instance
    private var indexed = [Frame?](repeating: nil, count: Topic.indexedCount)
    private var responses: [Instance: Frame] = [:]
    /// Frames with entries, in the order of their first entries.
    private var touched: [Frame] = []

    init(origin: Instance) { self.origin = origin }

    var isEmpty: Bool { touched.isEmpty }

    /// Adds an entry. Returns its frame when the frame is full and must be sent.
    mutating func append(to topic: Topic, _ body: (inout ByteBuffer) -> Void) -> Frame? {
        let frame = frame(for: topic)
        if !frame.writer.hasEntries { touched.append(frame) }
        frame.writer.append(body)
        return frame.writer.count >= Self.frameLimit ? frame : nil
    }

    /// Passes every frame with entries to `send` and removes the entries.
    mutating func flush(_ send: (UnsafeRawBufferPointer) -> Void) {
        for frame in touched where frame.writer.hasEntries { Self.flush(frame, send) }
        touched.removeAll(keepingCapacity: true)
        if responses.count > Self.keptResponses { responses.removeAll() }
    }

    static func flush(_ frame: Frame, _ send: (UnsafeRawBufferPointer) -> Void) {
        send(frame.writer.bytes)
        frame.writer.removeEntries(keepingAtMost: keptLimit)
    }

    private mutating func frame(for topic: Topic) -> Frame {
        if let index = topic.index {
            if let frame = indexed[index] { return frame }
            let frame = Frame(topic, origin)
            indexed[index] = frame
            return frame
        }
        guard case .response(let instance) = topic else { preconditionFailure("only response topics have no index") }
        if let frame = responses[instance] { return frame }
        let frame = Frame(topic, origin)
        responses[instance] = frame
        return frame
    }
}
