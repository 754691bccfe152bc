import Bytes
import Models

/// A request that can be written to any connection, and again if the first is lost.
public struct HTTPRequest: Sendable {
    public var method: StaticString
    /// The path with its query, percent-encoded.
    public let path: String
    public let token: String
    public var body: [UInt8]
    /// The key of a write that has no unique id.
    public var idempotencyKey: UUIDBytes?
    /// For whom an administrator acts.
    public var user: UserID?
    public var contentType = "application/json"
    /// Further fields of the head. Neither names nor values have line ends.
    public var fields: [String: String] = [:]

    public init(
        method: StaticString = "GET", path: String, token: String, body: [UInt8] = [],
        idempotencyKey: UUIDBytes? = nil, user: UserID? = nil
    ) {
        self.method = method
        self.path = path
        self.token = token
        self.body = body
        self.idempotencyKey = idempotencyKey
        self.user = user
    }

    /// Appends the request as sent on a connection to `host`.
    public func write(host: String, to buffer: inout ByteBuffer) {
        buffer.reserve(256 + token.utf8.count + body.count)
        writeHead(host: host, to: &buffer)
        if !body.isEmpty {
            buffer.append("\r\nContent-Type: ")
            buffer.append(utf8: contentType)
            buffer.append("\r\nContent-Length: ")
            buffer.append(decimal: Int64(body.count))
        } else if announcesNoBody {
            buffer.append("\r\nContent-Length: 0")
        }
        buffer.append("\r\n\r\n")
        buffer.append(body)
    }

    /// A server may want to be told where a body could be (RFC 9110, 8.6).
    private var announcesNoBody: Bool { !fields.isEmpty && !isBodiless }

    /// Whether neither it nor its response has a body.
    var isBodiless: Bool { method.utf8Start.pointee == UInt8(ascii: "H") }

    /// Appends the head of a request whose body of lines follows in chunks (RFC 9112, 7.1).
    func writeStreamedHead(host: String, to buffer: inout ByteBuffer) {
        writeHead(host: host, to: &buffer)
        buffer.append("\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    private func writeHead(host: String, to buffer: inout ByteBuffer) {
        buffer.append(method)
        buffer.append(" ")
        buffer.append(utf8: path)
        buffer.append(" HTTP/1.1\r\nHost: ")
        buffer.append(utf8: host)
        buffer.append("\r\nAuthorization: Bearer ")
        buffer.append(utf8: token)
        if let idempotencyKey {
            buffer.append("\r\nIdempotency-Key: ")
            buffer.append(idempotencyKey)
        }
        if let user {
            buffer.append("\r\nX-Parley-User: ")
            buffer.append(utf8: user.name)
        }
        for (name, value) in fields {
            buffer.append("\r\n")
            buffer.append(utf8: name)
            buffer.append(": ")
            buffer.append(utf8: value)
        }
    }
}
