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
        hasBegunResponse = false
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

    mutating func beginResponse(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], _ writer: ResponseWriter
    ) {
        precondition(isServingStream && !hasBegunResponse, "a streamed response begins once")
        hasBegunResponse = true
        let traits = responses.nextTraits, inChunks = !parser.isVersion10
        output.append { writer.writeHead(status, contentType, headers, inChunks: inChunks, traits, to: &$0) }
    }

    /// Sends bytes of the response as a chunk (RFC 9112, 7.1), or as they are to a client of HTTP/1.0.
    mutating func append(toResponse bytes: UnsafeRawBufferPointer) {
        precondition(isServingStream && hasBegunResponse, "a response has a head")
        // An empty chunk would be the last.
        guard !bytes.isEmpty, !responses.nextTraits.withoutBody else { return }
        guard !parser.isVersion10 else { return output.append { $0.append(bytes) } }
        output.append { buffer in
            buffer.append(utf8: String(bytes.count, radix: 16))
            buffer.append("\r\n")
            buffer.append(bytes)
            buffer.append("\r\n")
        }
    }

    /// Completes the response. Before the end of the body, or if `isLast`, the connection ends with it.
    mutating func endResponse(isLast: Bool, at sweep: UInt32) {
        precondition(isServingStream && hasBegunResponse, "a response has a head")
        let traits = responses.nextTraits
        if !parser.isVersion10, !traits.withoutBody { output.append { $0.append("0\r\n\r\n") } }
        let closes = isLast || stream != .responding || traits.closes
        lastStep = sweep
        endStream(closes: closes)
    }

    /// Ends the connection with what is written of the response. Returns whether it had begun.
    mutating func abandonStream() -> Bool {
        let hadBegun = isServingStream && hasBegunResponse
        endStream(closes: true)
        return hadBegun
    }

    private var isServingStream: Bool { stream != .none && stream != .waiting }

    private mutating func endStream(closes: Bool) {
        if isServingStream { responses.removeNext() }
        stream = .none
        guard closes else { return }
        phase = .finishing
        held = []
    }
}
