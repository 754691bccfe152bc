import Bytes
import CHTTPParser

/// A response as it arrives. The body is valid until the callback that passed it returns.
public struct HTTPResponse {
    public let status: Int
    public let retryAfter: Duration?
    public let body: UnsafeRawBufferPointer
    /// Those of `ResponseParser.keptFields` that it has, by their names in lower case.
    public let fields: [String: String]
}

/// Parses the responses of one connection with libhttp-parser, one after the other, as in pipelining.
final class ResponseParser {
    /// Called with each response.
    private let complete: (HTTPResponse) -> Void
    /// Called with a response whose head has arrived, and then with each piece of its body, which is not kept.
    private let begin: ((HTTPResponse) -> Void)?
    private let piece: ((UnsafeRawBufferPointer) -> Void)?
    /// Whether the next response has no body, whatever its head says: that to a HEAD.
    private let isBodiless: (() -> Bool)?
    private let parser: UnsafeMutablePointer<http_parser>
    private var body = ByteBuffer(capacity: 1024)
    private var name = ByteBuffer(capacity: 32)
    private var value = ByteBuffer(capacity: 64)
    private var isInValue = false
    private var retryAfter: Duration?
    private var fields: [String: String] = [:]
    /// The fields of a response that callers read, beside `Retry-After`.
    static let keptFields: [StaticString] = ["location", "upload-offset", "upload-length", "content-range"]
    /// The `Sec-WebSocket-Accept` field of a response that switches protocols.
    private(set) var acceptKey: [UInt8] = []

    init(
        begin: ((HTTPResponse) -> Void)? = nil, piece: ((UnsafeRawBufferPointer) -> Void)? = nil,
        isBodiless: (() -> Bool)? = nil, _ complete: @escaping (HTTPResponse) -> Void
    ) {
        self.begin = begin
        self.piece = piece
        self.isBodiless = isBodiless
        self.complete = complete
        parser = .allocate(capacity: 1)
        http_parser_init(parser, HTTP_RESPONSE)
        parser.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { parser.deallocate() }

    /// Whether the server keeps the connection open after the last parsed response.
    private(set) var keepsAlive = true

    var hasSwitchedProtocols: Bool { parser.pointee.upgrade != 0 && parser.pointee.status_code == 101 }

    /// Parses bytes and returns how many were used. That is fewer than all only after a protocol switch, and nil when
    /// they are no HTTP response.
    func parse(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let used = http_parser_execute(parser, Self.callbacks, start, bytes.count)
        guard parser.pointee.http_errno == HPE_OK.rawValue else { return nil }
        return used == bytes.count || hasSwitchedProtocols ? used : nil
    }

    // MARK: Callbacks

    private func began() {
        body.removeAll()
        name.removeAll()
        value.removeAll()
        isInValue = false
        retryAfter = nil
        if !fields.isEmpty { fields = [:] }
    }

    private func nameArrived(_ bytes: UnsafeRawBufferPointer) {
        if isInValue { endField() }
        name.append(bytes)
    }

    private func valueArrived(_ bytes: UnsafeRawBufferPointer) {
        isInValue = true
        value.append(bytes)
    }

    private func endField() {
        if isName("retry-after") { retryAfter = Self.seconds(value.bytes) }
        if isName("sec-websocket-accept") { acceptKey = value.array }
        for field in Self.keptFields where isName(field) {
            fields[field.description] = String(decoding: value.bytes, as: UTF8.self)
        }
        name.removeAll()
        value.removeAll()
        isInValue = false
    }

    private func isName(_ expected: StaticString) -> Bool {
        name.count == expected.utf8CodeUnitCount
            && (0..<name.count).allSatisfy { name.bytes[$0] | 0x20 == expected.utf8Start[$0] }
    }

    private static func seconds(_ value: UnsafeRawBufferPointer) -> Duration? {
        Int(String(decoding: value, as: UTF8.self)).map { .seconds(min(max($0, 0), 3600)) }
    }

    /// Returns whether there is no body.
    private func headEnded() -> Bool {
        if isInValue { endField() }
        guard !isInformational else { return false }
        begin?(response)
        return isBodiless?() ?? false
    }

    private func pieceArrived(_ bytes: UnsafeRawBufferPointer) {
        if let piece { piece(bytes) } else { body.append(bytes) }
    }

    private func ended() {
        keepsAlive = http_should_keep_alive(parser) != 0
        guard !hasSwitchedProtocols, !isInformational else { return }
        complete(response)
    }

    /// Such as 100: the response itself follows.
    private var isInformational: Bool { parser.pointee.status_code < 200 }

    private var response: HTTPResponse {
        HTTPResponse(
            status: Int(parser.pointee.status_code), retryAfter: retryAfter, body: body.bytes,
            fields: fields)
    }

    // MARK: The library's table of callbacks

    private typealias Parser = UnsafeMutablePointer<http_parser>

    // Not changed after initialization.
    nonisolated(unsafe) private static let callbacks: UnsafePointer<http_parser_settings> = {
        let table = UnsafeMutablePointer<http_parser_settings>.allocate(capacity: 1)
        http_parser_settings_init(table)
        table.pointee.on_message_begin = { notify($0) { $0.began() } }
        table.pointee.on_header_field = { pass($0, $1, $2) { $0.nameArrived($1) } }
        table.pointee.on_header_value = { pass($0, $1, $2) { $0.valueArrived($1) } }
        table.pointee.on_headers_complete = { parser in
            var isBodiless = false
            _ = notify(parser) { isBodiless = $0.headEnded() }
            return isBodiless ? 1 : 0
        }
        table.pointee.on_body = { pass($0, $1, $2) { $0.pieceArrived($1) } }
        table.pointee.on_message_complete = { notify($0) { $0.ended() } }
        return UnsafePointer(table)
    }()

    private static func notify(_ parser: Parser?, _ body: (ResponseParser) -> Void) -> CInt {
        body(Unmanaged<ResponseParser>.fromOpaque(parser!.pointee.data).takeUnretainedValue())
        return 0
    }

    private static func pass(
        _ parser: Parser?, _ start: UnsafePointer<CChar>?, _ count: Int,
        _ body: (ResponseParser, UnsafeRawBufferPointer) -> Void
    ) -> CInt {
        notify(parser) { body($0, UnsafeRawBufferPointer(start: start, count: count)) }
    }
}
