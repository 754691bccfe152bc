import Bytes

/// A complete message or control frame from a client, unmasked. Payloads are valid until the next call of the decoder.
enum WebSocketEvent {
    case text(UnsafeRawBufferPointer)
    case ping(UnsafeRawBufferPointer)
    case pong
    /// The peer closes; the code is nil if it gave none.
    case close(WebSocketCloseCode?)
}

/// A violation of RFC 6455 or of this server's limits. The connection is closed with this code.
struct WebSocketViolation: Error, Equatable {
    let code: WebSocketCloseCode
    let reason: StaticString

    static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

/// Decodes the frames of one client (RFC 6455, 5): bytes in, one event at a time out.
///
/// A frame that is complete in the input is unmasked in place and never copied. Memory is held only for an incomplete
/// frame and for the fragments of an incomplete message, up to `maximumMessageBytes` each.
struct WebSocketDecoder: ~Copyable {
    var maximumMessageBytes: Int

    /// The first bytes of an incomplete frame.
    private var partialFrame = ByteBuffer(capacity: 16)
    private var isPartialFrameDone = false
    /// The fragments so far of an incomplete message.
    private var fragments = ByteBuffer(capacity: 16)
    private var isMessageOpen = false
    private var areFragmentsDone = false
    private var utf8 = UTF8Validator()
    /// The number of decoded frames, including those without an event.
    private(set) var frames = 0

    /// The buffer memory that an idle WebSocket keeps.
    private static let keptBytes = 512

    init(maximumMessageBytes: Int) { self.maximumMessageBytes = maximumMessageBytes }

    /// Consumes bytes of `input`, which are unmasked in place, up to the next event. Returns nil when all are consumed.
    mutating func next(_ input: inout UnsafeMutableRawBufferPointer) throws(WebSocketViolation) -> WebSocketEvent? {
        releaseDelivered()
        while let frame = try nextFrame(&input) {
            frames += 1
            if let event = try event(of: frame) { return event }
            releaseDelivered()
        }
        return nil
    }

    /// The bytes held of an incomplete message.
    var heldBytes: Int {
        (isPartialFrameDone ? 0 : partialFrame.count) + (areFragmentsDone ? 0 : fragments.count)
    }

    /// The minimum length of the incomplete message, from its frame header; 0 when there is none.
    var announcedBytes: Int {
        guard !isPartialFrameDone, let header = try? WebSocketFrameHeader(partialFrame.bytes) else { return heldBytes }
        return header.payloadSize + (areFragmentsDone ? 0 : fragments.count)
    }

    /// Releases the memory when no more input is expected.
    mutating func release() {
        partialFrame = ByteBuffer(capacity: 16)
        fragments = ByteBuffer(capacity: 16)
        (isPartialFrameDone, areFragmentsDone) = (false, false)
    }

    private mutating func releaseDelivered() {
        if isPartialFrameDone { Self.empty(&partialFrame) }
        if areFragmentsDone { Self.empty(&fragments) }
        (isPartialFrameDone, areFragmentsDone) = (false, false)
    }

    private static func empty(_ buffer: inout ByteBuffer) {
        buffer.count > keptBytes ? buffer = ByteBuffer(capacity: 16) : buffer.removeAll()
    }

    // MARK: Frames

    private struct Frame {
        let header: WebSocketFrameHeader
        let payload: UnsafeRawBufferPointer
    }

    private mutating func nextFrame(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketViolation) -> Frame? {
        if !partialFrame.isEmpty { return try completePartialFrame(&input) }
        guard let header = try header(UnsafeRawBufferPointer(input)), input.count >= header.frameSize else {
            keep(&input)
            return nil
        }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: input[..<header.frameSize])
        input = UnsafeMutableRawBufferPointer(rebasing: input[header.frameSize...])
        return Frame(header: header, payload: header.unmask(bytes))
    }

    private mutating func keep(_ input: inout UnsafeMutableRawBufferPointer) {
        partialFrame.append(UnsafeRawBufferPointer(input))
        input = UnsafeMutableRawBufferPointer(rebasing: input[input.count...])
    }

    /// Consumes only the bytes missing from the frame, or, while its header is incomplete, from the header.
    private mutating func completePartialFrame(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketViolation) -> Frame? {
        while true {
            let have = partialFrame.bytes
            let header = try header(have)
            let wanted = header?.frameSize ?? WebSocketFrameHeader.size(have)
            if let header, have.count == wanted {
                isPartialFrameDone = true
                return Frame(header: header, payload: header.unmask(UnsafeMutableRawBufferPointer(mutating: have)))
            }
            if input.isEmpty { return nil }
            let taken = min(wanted - have.count, input.count)
            partialFrame.append(UnsafeRawBufferPointer(rebasing: input[..<taken]))
            input = UnsafeMutableRawBufferPointer(rebasing: input[taken...])
        }
    }

    /// The header at the start of `bytes`, if it is complete, with all checks that do not need the payload.
    private func header(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketFrameHeader? {
        guard let header = try WebSocketFrameHeader(bytes) else { return nil }
        if header.opcode.isControl { return header }
        guard header.opcode != .binary else {
            throw WebSocketViolation(code: .unsupportedData, reason: "only text messages are supported")
        }
        guard (header.opcode == .continuation) == isMessageOpen else {
            throw WebSocketViolation(code: .protocolError, reason: "fragments of two messages are interleaved")
        }
        let before = isMessageOpen ? fragments.count : 0
        guard header.payloadSize <= maximumMessageBytes - before else {
            throw WebSocketViolation(code: .messageTooBig, reason: "the message is over the limit")
        }
        return header
    }

    // MARK: Messages

    private mutating func event(of frame: Frame) throws(WebSocketViolation) -> WebSocketEvent? {
        switch frame.header.opcode {
        case .text, .continuation, .binary: try message(frame)
        case .ping: .ping(frame.payload)
        case .pong: .pong
        case .close: .close(try closeCode(frame.payload))
        }
    }

    private mutating func message(_ frame: Frame) throws(WebSocketViolation) -> WebSocketEvent? {
        let isWhole = frame.header.isFinal && !isMessageOpen
        guard utf8.accept(frame.payload), !frame.header.isFinal || utf8.isComplete else {
            throw WebSocketViolation(code: .invalidPayload, reason: "the text is not valid UTF-8")
        }
        if isWhole { return .text(frame.payload) }
        fragments.append(frame.payload)
        isMessageOpen = !frame.header.isFinal
        guard frame.header.isFinal else { return nil }
        areFragmentsDone = true
        return .text(fragments.bytes)
    }

    /// The code of a close frame: RFC 6455, 5.5.1 and 7.4.
    private func closeCode(_ payload: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketCloseCode? {
        if payload.isEmpty { return nil }
        let violation = WebSocketViolation(code: .protocolError, reason: "the close frame is malformed")
        guard payload.count >= 2 else { throw violation }
        let code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.mayBeSent else { throw violation }
        var reason = UTF8Validator()
        guard reason.accept(UnsafeRawBufferPointer(rebasing: payload[2...])), reason.isComplete else {
            throw WebSocketViolation(code: .invalidPayload, reason: "the reason is not valid UTF-8")
        }
        return code
    }
}
