import Bytes
import Wire

/// What this turn has for each topic, until it is sent: one frame per topic and turn costs a third less than a frame per
/// entry.
struct Outbox {
    /// A frame that reaches this is sent at once, so that no frame is longer than this and one entry.
    static let frameLimit = 256 << 10
    /// Frames that grew beyond this give their memory back instead of keeping it for the next turn.
    private static let keptLimit = 64 << 10
    /// Addressees of answers whose frames are kept for the next turn.
    private static let keptAnswers = 256

    final class Frame {
        var writer: FrameWriter
        init(_ topic: Topic, _ origin: Instance) { writer = FrameWriter(topic: topic, origin: origin) }
    }

    private let origin: Instance
    private var indexed = [Frame?](repeating: nil, count: Topic.indexedCount)
    private var answers: [Instance: Frame] = [:]
    /// In the order of their first entries.
    private var touched: [Frame] = []

    init(origin: Instance) { self.origin = origin }

    var isEmpty: Bool { touched.isEmpty }

    /// Adds an entry and returns its frame when that is full and has to be sent.
    mutating func append(to topic: Topic, _ body: (inout ByteBuffer) -> Void) -> Frame? {
        let frame = frame(for: topic)
        if !frame.writer.hasEntries { touched.append(frame) }
        frame.writer.append(body)
        return frame.writer.count >= Self.frameLimit ? frame : nil
    }

    /// Hands every frame with entries to `send` and forgets the entries.
    mutating func flush(_ send: (UnsafeRawBufferPointer) -> Void) {
        for frame in touched where frame.writer.hasEntries { Self.flush(frame, send) }
        touched.removeAll(keepingCapacity: true)
        if answers.count > Self.keptAnswers { answers.removeAll() }
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
        guard case .response(let instance) = topic else { preconditionFailure("only answers have no index") }
        if let frame = answers[instance] { return frame }
        let frame = Frame(topic, origin)
        answers[instance] = frame
        return frame
    }
}
