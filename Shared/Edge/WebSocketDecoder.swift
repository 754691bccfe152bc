import Bytes

/// What a client sent, unmasked and put together. Payloads are valid until the decoder is asked for the next event.
enum WebSocketEvent {
    case text(UnsafeRawBufferPointer)
    case ping(UnsafeRawBufferPointer)
    case pong
    /// The peer closes; no code means that it gave none.
    case close(WebSocketCloseCode?)
}

/// The peer broke a rule of RFC 6455, or of this server. The connection is to be closed with this code.
struct WebSocketViolation: Error, Equatable {
    let code: WebSocketCloseCode
    let reason: StaticString

    static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

/// Decodes the frames of one client (RFC 6455, 5): bytes in, one event at a time out.
///
/// A frame that lies whole in the input is unmasked in place and never copied. Memory is held only for a frame that
/// has arrived in part and for the fragments of an open message, at most `maximumMessageBytes` of each.
struct WebSocketDecoder: ~Copyable {
    var maximumMessageBytes: Int

    /// The beginning of a frame that has not arrived as a whole.
    private var partialFrame = ByteBuffer(capacity: 16)
    private var isPartialFrameDone = false
    /// The fragments so far of a message whose last has not come.
    private var fragments = ByteBuffer(capacity: 16)
    private var isMessageOpen = false
    private var areFragmentsDone = false
    private var utf8 = UTF8Validator()
    /// Frames that were decoded: also those that make no event.
    private(set) var frames = 0

    /// Memory that an idle WebSocket keeps of a larger message.
    private static let keptBytes = 512

    init(maximumMessageBytes: Int) { self.maximumMessageBytes = maximumMessageBytes }

    /// Takes bytes off the front of `input`, which it changes, up to the next event; nil when they are used up.
    mutating func next(_ input: inout UnsafeMutableRawBufferPointer) throws(WebSocketViolation) -> WebSocketEvent? {
        releaseDelivered()
        while let frame = try nextFrame(&input) {
            frames += 1
            if let event = try event(of: frame) { return event }
            releaseDelivered()
        }
        return nil
    }

    /// Bytes that are kept of a message that has not arrived as a whole.
    var heldBytes: Int {
        (isPartialFrameDone ? 0 : partialFrame.count) + (areFragmentsDone ? 0 : fragments.count)
    }

    /// Bytes that the message will have at least, as its frame says; 0 when none has begun.
    var announcedBytes: Int {
        guard !isPartialFrameDone, let header = try? WebSocketFrameHeader(partialFrame.bytes) else { return heldBytes }
        return header.payloadSize + (areFragmentsDone ? 0 : fragments.count)
    }

    /// Gives the memory back, for a peer that is listened to no more.
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

    /// Takes only as many bytes as the frame still lacks; before its header is whole, those that the header lacks.
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

    /// The header at the front of `bytes`, if it is whole, checked against everything that is known before the payload.
    private func header(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketFrameHeader? {
        guard let header = try WebSocketFrameHeader(bytes) else { return nil }
        if header.opcode.isControl { return header }
        guard header.opcode != .binary else {
            throw WebSocketViolation(code: .unsupportedData, reason: "only text messages are spoken here")
        }
        guard (header.opcode == .continuation) == isMessageOpen else {
            throw WebSocketViolation(code: .protocolError, reason: "fragments of two messages are mixed")
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

    /// RFC 6455, 5.5.1 and 7.4.
    private func closeCode(_ payload: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketCloseCode? {
        if payload.isEmpty { return nil }
        let violation = WebSocketViolation(code: .protocolError, reason: "the close frame is malformed")
        guard payload.count >= 2 else { throw violation }
        let code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.maySent else { throw violation }
        var reason = UTF8Validator()
        guard reason.accept(UnsafeRawBufferPointer(rebasing: payload[2...])), reason.isComplete else {
            throw WebSocketViolation(code: .invalidPayload, reason: "the reason is not valid UTF-8")
        }
        return code
    }
}
