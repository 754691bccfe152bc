import Bytes

/// How far the streamed request of a connection is. While there is one, no other is served: it waits for the responses
/// to earlier ones, and those behind it wait for its own.
enum StreamProgress {
    case none
    /// Its head has arrived. Responses to earlier requests are outstanding.
    case waiting
    case reading
    /// Its handler takes no more for now.
    case paused
    /// Its body is complete, its response is not.
    case responding

    var holdsInput: Bool { self == .waiting || self == .paused || self == .responding }
}

/// A part of an open file, to be sent without passing through this process.
struct FilePart {
    let descriptor: CInt
    var offset: Int64
    var count: Int64
}

/// A request whose body is passed on as it arrives, and whose response is sent in pieces. At most one piece of either is
/// kept here, besides what the peer does not read.
extension HTTPConnectionState {
    // MARK: Reading

    /// Keeps the request whose head has arrived until its turn.
    mutating func awaitStream() {
        parser.bodyLimit = .max
        stream = .waiting
    }

    var isTurnOfStream: Bool { stream == .waiting && phase == .open && responses.outstanding == 0 }

    /// Begins to serve the request that waits.
    mutating func openStream(at sweep: UInt32) {
        hasReceivedRequest = true
        lastStep = sweep
        stream = parser.hasBody ? .reading : .responding
        framing = nil
        _ = responses.open(
            ResponseTraits(withoutBody: parser.isHead, closes: !parser.keepsAlive || parser.isVersion10))
        if stream == .reading, expectsContinue { writeContinue() }
    }

    mutating func pieceArrived(at sweep: UInt32) -> Event {
        lastStep = sweep
        return .piece
    }

    mutating func lastPieceArrived() -> Event {
        stream = .responding
        return .lastPiece
    }

    mutating func pauseStream() { if stream == .reading { stream = .paused } }

    mutating func resumeStream(at sweep: UInt32) {
        guard stream == .paused else { return }
        stream = .reading
        lastStep = sweep
    }

    // MARK: Responding

    /// Sends a whole response at once. If the body is not complete, the connection ends after it.
    mutating func respondToStream(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], _ body: UnsafeRawBufferPointer,
        _ writer: ResponseWriter, isLast: Bool, at sweep: UInt32
    ) {
        precondition(isServingStream && framing == nil, "a streamed response begins once")
        var traits = responses.nextTraits
        traits.closes = traits.closes || isLast || stream != .responding
        output.append { writer.write(status, contentType, headers, body, traits, to: &$0) }
        lastStep = sweep
        endStream(closes: traits.closes)
    }

    /// - Parameter length: of the body in bytes; nil when it is not known.
    mutating func beginResponse(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], length: Int64?,
        _ writer: ResponseWriter
    ) {
        precondition(isServingStream && framing == nil, "a streamed response begins once")
        let traits = responses.nextTraits
        let framing = length.map(ResponseFraming.length) ?? (parser.isVersion10 ? .untilEnd : .chunks)
        self.framing = framing
        output.append { writer.writeHead(status, contentType, headers, framing, traits, to: &$0) }
    }

    /// Sends bytes of the response, as a chunk (RFC 9112, 7.1) if its length was not given.
    mutating func append(toResponse bytes: UnsafeRawBufferPointer) {
        precondition(isServingStream && framing != nil, "a response has a head")
        // An empty chunk would be the last.
        guard !bytes.isEmpty, !responses.nextTraits.withoutBody else { return }
        countBody(Int64(bytes.count))
        guard framing == .chunks else { return output.append { $0.append(bytes) } }
        output.append { buffer in
            buffer.append(utf8: String(bytes.count, radix: 16))
            buffer.append("\r\n")
            buffer.append(bytes)
            buffer.append("\r\n")
        }
    }

    /// Sends a part of a file next, behind what was written. There is one at a time.
    mutating func append(toResponse part: FilePart) {
        precondition(isServingStream && file == nil, "one part of a file is sent at a time")
        guard part.count > 0, !responses.nextTraits.withoutBody else { return }
        precondition(framing != .chunks, "a file has a length")
        countBody(part.count)
        file = part
    }

    /// Counts what is left of a body whose length was given.
    private mutating func countBody(_ count: Int64) {
        guard case .length(let rest) = framing else { return }
        precondition(count <= rest, "a body has the length that its head gives")
        framing = .length(rest - count)
    }

    /// Whether the body has bytes that were announced and never written.
    private var isIncomplete: Bool {
        guard case .length(let rest) = framing else { return false }
        return rest > 0 && !responses.nextTraits.withoutBody
    }

    /// Completes the response. Before the end of the body, or if `isLast`, the connection ends with it.
    mutating func endResponse(isLast: Bool, at sweep: UInt32) {
        precondition(isServingStream && framing != nil && file == nil, "a response is complete")
        let traits = responses.nextTraits
        if framing == .chunks, !traits.withoutBody { output.append { $0.append("0\r\n\r\n") } }
        let closes = isLast || stream != .responding || traits.closes || isIncomplete
        lastStep = sweep
        endStream(closes: closes)
    }

    /// Ends the connection with what is written of the response. Returns whether it had begun.
    mutating func abandonStream() -> Bool {
        let hadBegun = isServingStream && framing != nil
        endStream(closes: true)
        return hadBegun
    }

    private var isServingStream: Bool { stream != .none && stream != .waiting }

    private mutating func endStream(closes: Bool) {
        if isServingStream { responses.removeNext() }
        stream = .none
        file = nil
        guard closes else { return }
        phase = .finishing
        held = []
    }
}
