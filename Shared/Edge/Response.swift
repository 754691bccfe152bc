import Bytes
import Glibc

/// The media type of a response's body.
public struct ContentType: Sendable {
    let name: StaticString
    public init(_ name: StaticString) { self.name = name }

    public static let json = ContentType("application/json")
    public static let problem = ContentType("application/problem+json")
    /// JSON documents, one a line.
    public static let lines = ContentType("application/x-ndjson")
    public static let text = ContentType("text/plain; charset=utf-8")
    /// Prometheus' text format.
    public static let metrics = ContentType("text/plain; version=0.0.4; charset=utf-8")
}

/// An additional header field of a response. The value must not contain control characters.
public struct ResponseHeader: Sendable {
    let name: StaticString
    let value: String

    public init(_ name: StaticString, _ value: String) {
        self.name = name
        self.value = value
    }

    public static func retryAfter(seconds: Int) -> ResponseHeader { ResponseHeader("Retry-After", "\(seconds)") }
}

/// The properties of a response that its request determines.
struct ResponseTraits: Equatable {
    var withoutBody = false
    var closes = false
    /// HTTP/1.0 closes unless the response says otherwise.
    var saysKeepAlive = false
}

/// How the end of a streamed response's body is found (RFC 9112, 6.3).
enum ResponseFraming: Equatable {
    /// By its length in bytes.
    case length(Int64)
    case chunks
    /// It ends with the connection: for clients of HTTP/1.0.
    case untilEnd
}

/// Writes the status line and header fields of a response (RFC 9112, 4 and 5).
struct ResponseWriter {
    private var date: HTTPDate

    init(second: time_t) { date = HTTPDate(second: second) }

    /// Sets the date of the responses that follow.
    mutating func update(to second: time_t) { date.update(to: second) }

    func write(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], _ body: UnsafeRawBufferPointer,
        _ traits: ResponseTraits, to buffer: inout ByteBuffer
    ) {
        buffer.reserve(256 + body.count)
        writeStatusLine(status, to: &buffer)
        date.write(to: &buffer)
        if !body.isEmpty { write(contentType, to: &buffer) }
        if status != 204, status != 304 {
            buffer.append("Content-Length: ")
            buffer.append(decimal: Int64(body.count))
            buffer.append("\r\n")
        }
        endHead(headers, traits, to: &buffer)
        if !traits.withoutBody, status != 204 { buffer.append(body) }
    }

    /// Writes the head of a response whose body follows. Without chunks, a body of unknown length ends with the
    /// connection (RFC 9112, 6.3).
    func writeHead(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], _ framing: ResponseFraming,
        _ traits: ResponseTraits, to buffer: inout ByteBuffer
    ) {
        writeStatusLine(status, to: &buffer)
        date.write(to: &buffer)
        write(contentType, to: &buffer)
        switch framing {
        case .length(let count):
            buffer.append("Content-Length: ")
            buffer.append(decimal: count)
            buffer.append("\r\n")
        case .chunks: buffer.append("Transfer-Encoding: chunked\r\n")
        case .untilEnd: break
        }
        endHead(headers, traits, to: &buffer)
    }

    private func write(_ contentType: ContentType, to buffer: inout ByteBuffer) {
        buffer.append("Content-Type: ")
        buffer.append(contentType.name)
        buffer.append("\r\n")
    }

    private func endHead(_ headers: [ResponseHeader], _ traits: ResponseTraits, to buffer: inout ByteBuffer) {
        if traits.closes { buffer.append("Connection: close\r\n") }
        if traits.saysKeepAlive { buffer.append("Connection: keep-alive\r\n") }
        for header in headers { writeHeader(header, to: &buffer) }
        buffer.append("\r\n")
    }

    private func writeHeader(_ header: ResponseHeader, to buffer: inout ByteBuffer) {
        buffer.append(header.name)
        buffer.append(": ")
        buffer.append(utf8: header.value)
        buffer.append("\r\n")
    }

    private func writeStatusLine(_ status: Int, to buffer: inout ByteBuffer) {
        buffer.append("HTTP/1.1 ")
        buffer.append(decimal: Int64(status))
        buffer.append(" ")
        buffer.append(Self.reason(status))
        buffer.append("\r\n")
    }

    private static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 423: "Locked"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 460: "Checksum Mismatch"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""  // The phrase is optional (RFC 9112, 4).
        }
    }
}
