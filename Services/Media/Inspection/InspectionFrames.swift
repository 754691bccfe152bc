/// Reads what an inspector writes: frames of tag (1 byte), length (4 bytes, big-endian) and content. Bytes in, one event
/// at a time out; a frame's content comes in whatever pieces it arrives in.
struct InspectionFrames {
    enum Event: Equatable {
        /// The input is taken.
        case needsMore
        case facts([UInt8])
        /// The next bytes of what is kept instead of the upload, or of a thumbnail.
        case piece(ObjectPart, [UInt8])
        case end
        /// What no inspector writes.
        case malformed
    }

    static let factsBytes = 8 << 10

    private enum Tag: UInt8 {
        case facts = 1
        case content = 2
        case small = 3
        case large = 4
        case end = 5

        var part: ObjectPart {
            switch self {
            case .content: .content
            case .small: .small
            case .large: .large
            case .facts, .end: preconditionFailure("no part of an object")
            }
        }
    }

    private var head: [UInt8] = []
    private var tag: Tag?
    private var rest = 0
    private var facts: [UInt8] = []
    private var hasFacts = false

    /// Consumes bytes of `input` up to the next event.
    mutating func next(_ input: inout ArraySlice<UInt8>) -> Event {
        while !input.isEmpty {
            guard let tag else {
                head.append(input.removeFirst())
                guard head.count < 5 else {
                    guard begin() else { return .malformed }
                    if let event = emptyFrame() { return event }
                    continue
                }
                continue
            }
            let piece = input.prefix(rest)
            input = input.dropFirst(piece.count)
            rest -= piece.count
            if rest == 0 { self.tag = nil }
            guard tag == .facts else { return .piece(tag.part, Array(piece)) }
            facts += piece
            if rest == 0 { return .facts(facts) }
        }
        return .needsMore
    }

    private mutating func begin() -> Bool {
        tag = Tag(rawValue: head[0])
        rest = head[1...].reduce(0) { $0 << 8 | Int($1) }
        head = []
        switch tag {
        case nil: return false
        case .facts where hasFacts || rest == 0 || rest > Self.factsBytes: return false
        case .facts: hasFacts = true
        case .end where rest > 0: return false
        default: break
        }
        return true
    }

    private mutating func emptyFrame() -> Event? {
        guard rest == 0, let tag else { return nil }
        self.tag = nil
        return tag == .end ? .end : nil
    }
}
