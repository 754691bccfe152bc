import Bytes
import CHTTPParser
import Glibc

/// Parses the requests of one connection: bytes in, one event at a time out.
///
/// libhttp-parser reads the bytes and refuses what RFC 9112 refuses (both lengths at once, unknown transfer codings,
/// malformed chunks). Its callbacks pause it at each event, and `next` continues it. The parts that a handler reads are
/// copied into two buffers that are reused for the next request.
final class RequestParser {
    enum Event: Equatable {
        /// The input is consumed and the request is not complete.
        case needsMore
        /// The head of a request with a body is complete; the caller sets `bodyLimit`.
        case head
        /// A request is complete; its parts stay valid until `next` is called again.
        case request
        /// The bytes are not a supported request. Nothing more can be parsed.
        case failure(RequestFailure)
    }

    /// The maximum length of the current request's body in bytes. `next` fails beyond it.
    var bodyLimit = 0

    /// Whether the body of the current request is discarded as it arrives.
    var discardsBody = false

    private(set) var isInRequest = false
    private(set) var isHeadComplete = false
    private(set) var asksForUpgrade = false
    /// Whether a body follows the head, and its announced length: nil if chunked. Both are stored because the library
    /// counts its own value down.
    private(set) var hasBody = false
    private(set) var announcedBodyBytes: UInt64? = 0

    private let headLimit: Int
    private let parser: UnsafeMutablePointer<http_parser>
    private var pendingEvent: Event?
    private var failure: RequestFailure?

    private var head = ByteBuffer(capacity: 256)
    private var bodyBytes = ByteBuffer(capacity: 256)
    private var targetLength = 0
    private var fields: [Range<Int>?] = Array(repeating: nil, count: HeaderName.allCases.count)
    private var headSize = 0

    // The header field that is arriving.
    private var name = ByteBuffer(capacity: 32)
    private var field: HeaderName?
    private var valueStart = 0
    private var isInValue = false
    private var foldDetector = FoldDetector()
    private var lineEnds = LineEndCheck()

    /// The body memory that a connection keeps. The memory of a larger body is released, so that thousands of idle
    /// connections do not hold the memory of their last requests.
    private static let keptBodyBytes = 4 * 1024

    init(headLimit: Int) {
        self.headLimit = headLimit
        parser = .allocate(capacity: 1)
        http_parser_init(parser, HTTP_REQUEST)
        parser.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { parser.deallocate() }

    /// Consumes bytes of `input` up to the next event.
    func next(_ input: inout UnsafeMutableRawBufferPointer) -> Event {
        if let failure { return .failure(failure) }
        pendingEvent = nil
        let wasInHead = !isInRequest || !isHeadComplete
        foldDetector.begin(UnsafeRawBufferPointer(input))
        http_parser_pause(parser, 0)
        let used = http_parser_execute(
            parser, Self.callbacks, input.baseAddress?.assumingMemoryBound(to: CChar.self), input.count)
        // At the end of a head with a body, the library stops before the last byte.
        let head = UnsafeRawBufferPointer(rebasing: input[..<(pendingEvent == .head ? used + 1 : used)])
        if failure == nil, wasInHead, !lineEnds.accept(head) { failure = .bareLineFeed }
        if failure == nil, let pendingEvent {
            input = UnsafeMutableRawBufferPointer(rebasing: input[used...])
            return pendingEvent
        }
        guard failure != nil || parser.pointee.http_errno != HPE_OK.rawValue else {
            input = UnsafeMutableRawBufferPointer(rebasing: input[input.count...])
            return .needsMore
        }
        let reason = failure ?? .malformed(parser.pointee.http_errno)
        failure = reason
        return .failure(reason)
    }

    // MARK: The current request

    var method: Method { Method(parser.pointee.method) }

    /// Whether the response is sent without its body (RFC 9110, 9.3.2).
    var isHead: Bool { parser.pointee.method == HTTP_HEAD.rawValue }

    var isVersion10: Bool { parser.pointee.http_minor == 0 }

    /// Whether the connection stays open after the response (RFC 9112, 9.3).
    var keepsAlive: Bool { http_should_keep_alive(parser) != 0 }

    var target: RequestTarget { RequestTarget(UnsafeRawBufferPointer(rebasing: head.bytes[..<targetLength])) }

    var body: UnsafeRawBufferPointer { bodyBytes.bytes }

    /// Releases the body, which was handled or will not be.
    func forgetBody() {
        bodyBytes.count > Self.keptBodyBytes ? bodyBytes = ByteBuffer(capacity: 256) : bodyBytes.removeAll()
    }

    /// The value of a field without white space around it.
    func value(of name: HeaderName) -> UnsafeRawBufferPointer? {
        fields[name.rawValue].map { UnsafeRawBufferPointer(rebasing: head.bytes[$0]).trimmingWhitespace() }
    }

    private var isChunked: Bool { parser.pointee.flags & F_CHUNKED.rawValue != 0 }

    // MARK: Callbacks. The result is false when the request is refused.

    private func began() -> Bool {
        isInRequest = true
        isHeadComplete = false
        isInValue = false
        (targetLength, headSize, bodyLimit) = (0, 0, 0)
        discardsBody = false
        head.removeAll()
        name.removeAll()
        forgetBody()
        for index in fields.indices { fields[index] = nil }
        return true
    }

    private func targetArrived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        head.append(bytes)
        targetLength += bytes.count
        return countHead(bytes.count)
    }

    private func nameArrived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // libhttp-parser accepts "Content-Length :" as a length; other parsers do not (RFC 9112, 5.1).
        if bytes.contains(UInt8(ascii: " ")) { return refuse(.spaceInName) }
        if isHeadComplete { return countHead(bytes.count) }  // A trailer field: ignored.
        if isInValue { endField() }
        // One byte more than the longest name is enough to know that the field is not one of ours.
        let room = HeaderName.longestName + 1 - name.count
        name.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
        return countHead(bytes.count)
    }

    private func valueArrived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if isHeadComplete { return countHead(bytes.count) }
        if !isInValue {
            isInValue = true
            guard beginValue() else { return refuse(.repeatedField) }
        } else if !foldDetector.continues(bytes) {
            return refuse(.foldedField)
        }
        foldDetector.ended(bytes)
        if field != nil { head.append(bytes) }
        return countHead(bytes.count)
    }

    /// Returns false when a field that must be unique is repeated.
    private func beginValue() -> Bool {
        field = HeaderName(name.bytes)
        valueStart = head.count
        guard let field, let earlier = fields[field.rawValue] else { return true }
        guard field.isList else { return false }
        head.append(Array(head.bytes[earlier]))
        head.append(", ")
        return true
    }

    private func endField() {
        if let field { fields[field.rawValue] = valueStart..<head.count }
        name.removeAll()
        isInValue = false
    }

    private func headEnded() -> Bool {
        if isInValue { endField() }
        isHeadComplete = true
        measureBody()
        asksForUpgrade = parser.pointee.upgrade != 0 && !hasBody && parser.pointee.method == HTTP_GET.rawValue
        parser.pointee.upgrade = 0  // Otherwise the library would take a body or the next request for another protocol.
        guard parser.pointee.http_major == 1 else { return refuse(.versionNotSupported) }
        guard isVersion10 || fields[HeaderName.host.rawValue] != nil else { return refuse(.hostMissing) }
        if hasBody { pause(.head) }
        return true
    }

    private func measureBody() {
        let length = parser.pointee.content_length
        announcedBodyBytes = isChunked ? nil : length == .max ? 0 : length
        hasBody = announcedBodyBytes != 0
    }

    private func bodyArrived(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if discardsBody { return true }
        guard bytes.count <= bodyLimit - bodyBytes.count else { return refuse(.bodyTooLarge) }
        bodyBytes.append(bytes)
        return true
    }

    private func ended() -> Bool {
        isInRequest = false
        pause(.request)
        return true
    }

    private func countHead(_ count: Int) -> Bool {
        headSize += count + 2  // Plus at least ":" or the line end.
        return headSize <= headLimit || refuse(.headTooLarge)
    }

    private func pause(_ event: Event) {
        pendingEvent = event
        http_parser_pause(parser, 1)
    }

    private func refuse(_ reason: RequestFailure) -> Bool {
        failure = reason
        return false
    }

    // MARK: The library's table of callbacks

    private typealias Parser = UnsafeMutablePointer<http_parser>

    // Not changed after initialization.
    nonisolated(unsafe) private static let callbacks: UnsafePointer<http_parser_settings> = {
        let table = UnsafeMutablePointer<http_parser_settings>.allocate(capacity: 1)
        http_parser_settings_init(table)
        table.pointee.on_message_begin = { notify($0) { $0.began() } }
        table.pointee.on_url = { pass($0, $1, $2) { $0.targetArrived($1) } }
        table.pointee.on_header_field = { pass($0, $1, $2) { $0.nameArrived($1) } }
        table.pointee.on_header_value = { pass($0, $1, $2) { $0.valueArrived($1) } }
        table.pointee.on_headers_complete = { notify($0) { $0.headEnded() } }
        table.pointee.on_body = { pass($0, $1, $2) { $0.bodyArrived($1) } }
        table.pointee.on_message_complete = { notify($0) { $0.ended() } }
        return UnsafePointer(table)
    }()

    private static func notify(_ parser: Parser?, _ body: (RequestParser) -> Bool) -> CInt {
        let owner = Unmanaged<RequestParser>.fromOpaque(parser!.pointee.data).takeUnretainedValue()
        return body(owner) ? 0 : -1
    }

    private static func pass(
        _ parser: Parser?, _ start: UnsafePointer<CChar>?, _ count: Int,
        _ body: (RequestParser, UnsafeRawBufferPointer) -> Bool
    ) -> CInt {
        notify(parser) { body($0, UnsafeRawBufferPointer(start: start, count: count)) }
    }
}

/// Detects a header value folded over several lines (obs-fold), which a server must refuse (RFC 9112, 5.2).
///
/// libhttp-parser unfolds it silently: it reports such a value in two pieces, like one that arrived in two reads. The
/// addresses differ: the pieces of a split value end one input and begin the next.
struct FoldDetector {
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var inputNumber = 0
    private var endedInput = -1

    mutating func begin(_ bytes: UnsafeRawBufferPointer) {
        input = bytes
        inputNumber += 1
    }

    /// Whether `piece` continues the previous piece without a line break between them.
    func continues(_ piece: UnsafeRawBufferPointer) -> Bool {
        piece.isEmpty || (piece.baseAddress == input.baseAddress && endedInput == inputNumber - 1)
    }

    mutating func ended(_ piece: UnsafeRawBufferPointer) {
        let reachesEnd = piece.baseAddress.map { $0 + piece.count } == input.baseAddress.map { $0 + input.count }
        endedInput = reachesEnd ? inputNumber : -1
    }
}

/// Detects a line of a head that ends without a carriage return. RFC 9112, 2.2 allows a recipient to accept it, and the
/// library does. But a server that sees two lines and one that sees a single line disagree about where the request
/// ends.
struct LineEndCheck {
    private var last: UInt8 = 0

    /// Checks the next bytes. Returns false when a line feed stands alone.
    mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
        var rest = start
        while let feed = memchr(rest, CInt(UInt8(ascii: "\n")), bytes.count - (rest - start)) {
            let before = feed == start ? last : feed.load(fromByteOffset: -1, as: UInt8.self)
            if before != UInt8(ascii: "\r") { return false }
            rest = UnsafeRawPointer(feed + 1)
        }
        last = bytes[bytes.count - 1]
        return true
    }
}
