import Bytes

/// A request, ready to be written into any connection, again if the first is lost.
struct HTTPRequest: Sendable {
    var method: StaticString = "GET"
    /// With the query, percent-encoded.
    let path: String
    let token: String
    var body: [UInt8] = []

    func write(host: String, to buffer: inout ByteBuffer) {
        buffer.reserve(256 + token.utf8.count + body.count)
        buffer.append(method)
        buffer.append(" ")
        buffer.append(utf8: path)
        buffer.append(" HTTP/1.1\r\nHost: ")
        buffer.append(utf8: host)
        buffer.append("\r\nAuthorization: Bearer ")
        buffer.append(utf8: token)
        if !body.isEmpty {
            buffer.append("\r\nContent-Type: application/json\r\nContent-Length: ")
            buffer.append(decimal: Int64(body.count))
        }
        buffer.append("\r\n\r\n")
        buffer.append(body)
    }
}
