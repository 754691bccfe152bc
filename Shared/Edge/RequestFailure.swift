import Bytes
import CHTTPParser

/// Why the server refuses a request before any handler sees it. The connection is closed after the response, because it
/// is unknown where the next request begins.
enum RequestFailure: Error, Equatable {
    /// The error number of libhttp-parser.
    case malformed(UInt32)
    case repeatedField, foldedField, spaceInName, bareLineFeed, hostMissing
    case versionNotSupported, headTooLarge, bodyTooLarge, expectationUnknown
    case headTimeout, bodyTimeout
    case handshakeInvalid, webSocketVersion, webSocketProtocol, upgradeBehindRequests
    case webSocketRefused, throttled

    var status: Int {
        switch self {
        case .malformed(HPE_HEADER_OVERFLOW.rawValue), .headTooLarge: 431
        case .malformed, .repeatedField, .foldedField, .spaceInName, .bareLineFeed, .hostMissing: 400
        case .handshakeInvalid, .webSocketProtocol, .upgradeBehindRequests: 400
        case .versionNotSupported: 505
        case .bodyTooLarge: 413
        case .expectationUnknown: 417
        case .headTimeout, .bodyTimeout: 408
        case .webSocketVersion: 426
        case .webSocketRefused: 503
        case .throttled: 429
        }
    }

    private var title: StaticString {
        switch status {
        case 408: "The request did not arrive in time"
        case 413: "The body is too large"
        case 429: "Too many requests"
        case 431: "The header fields are too large"
        case 503: "No WebSocket can be opened now"
        default: "The request is malformed or not supported"
        }
    }

    /// The stable `code` of the client contract.
    private var code: StaticString {
        switch status {
        case 413, 431: "tooLarge"
        case 429: "rateLimited"
        case 503: "unavailable"
        default: "invalid"
        }
    }

    private var detail: String {
        switch self {
        case .malformed(let number): String(cString: http_errno_description(http_errno(rawValue: number)))
        case .repeatedField: "a header field that must occur once was repeated"
        case .foldedField: "a header value continues on the next line"
        case .spaceInName: "the name of a header field contains a space"
        case .bareLineFeed: "a line of the head ends without a carriage return"
        case .hostMissing: "the header field Host is missing"
        case .versionNotSupported: "only HTTP/1.1 and HTTP/1.0 are supported"
        case .headTooLarge: "the request line and header fields are over the limit"
        case .bodyTooLarge: "the body is over the limit of this call"
        case .expectationUnknown: "the only supported expectation is 100-continue"
        case .headTimeout: "the header fields took too long to arrive"
        case .bodyTimeout: "the body took too long to arrive"
        case .handshakeInvalid: "the header field Sec-WebSocket-Key must be 16 bytes in base64"
        case .webSocketVersion: "the header field Sec-WebSocket-Version must be 13"
        case .webSocketProtocol: "none of the subprotocols in Sec-WebSocket-Protocol is supported"
        case .upgradeBehindRequests: "an upgrade must wait for the responses to earlier requests"
        case .throttled: "too many requests without a valid token came from this address"
        case .webSocketRefused: "the server is full or shutting down: connect again later"
        }
    }

    var headers: [ResponseHeader] {
        switch self {
        case .webSocketVersion:
            [ResponseHeader("Sec-WebSocket-Version", "13"), ResponseHeader("Upgrade", "websocket")]
        case .webSocketRefused, .throttled: [ResponseHeader("Retry-After", "1")]
        default: []
        }
    }

    /// Writes the problem document (RFC 9457) for the client.
    func writeProblem(to buffer: inout ByteBuffer) {
        buffer.append("{\"status\":")
        buffer.append(decimal: Int64(status))
        buffer.append(",\"title\":\"")
        buffer.append(title)
        buffer.append("\",\"detail\":\"")
        buffer.append(utf8: detail)
        buffer.append("\",\"code\":\"")
        buffer.append(code)
        buffer.append("\"}")
    }
}
