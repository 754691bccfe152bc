import Bytes
import JSON
import Models
import Reactor
import ReactorTransport

/// A final response other than the one expected.
public struct APIError: Error, CustomStringConvertible {
    public let request: String
    public let status: Int
    public let detail: String

    /// - Parameter status: 0 when there was no response.
    public init(request: String, status: Int, detail: String) {
        self.request = request
        self.status = status
        self.detail = detail
    }

    public var description: String {
        "\(request): \(status == 0 ? "no response" : "status \(status)")\(detail.isEmpty ? "" : ": \(detail)")"
    }
}

/// The contract's calls that this client makes. All are safe to repeat, and temporary failures are repeated.
@Reactor
public struct ParleyAPI {
    public let http: HTTPClient
    /// How long a call is repeated before it is given up.
    public var patience = Duration.seconds(60)

    public init(http: HTTPClient) { self.http = http }

    /// - Returns: the body of the response.
    public func call(_ request: HTTPRequest) async throws(APIError) -> [UInt8] {
        let start = MonotonicTime.now
        var pause = Duration.milliseconds(50)
        while true {
            let reply = await http.send(request)
            if reply.isSuccess { return reply.body }
            guard reply.isTemporary, MonotonicTime.now - start < patience else { throw error(request, reply) }
            await Reactor.sleep(for: reply.retryAfter ?? pause)
            pause = min(pause * 2, .seconds(1))
        }
    }

    public func history(
        of conversation: ConversationID, after seq: Int64, token: String
    ) async throws(APIError) -> HistoryPage {
        let path = "/v1/conversations/\(conversation)/messages?after=\(seq)&limit=200"
        return try await decode(HTTPRequest(path: path, token: token), HistoryPage.init(document:))
    }

    public func changes(
        of conversation: ConversationID, after seq: Int64, token: String
    ) async throws(APIError) -> ChangesPage {
        let path = "/v1/conversations/\(conversation)/changes?after=\(seq)&limit=200"
        return try await decode(HTTPRequest(path: path, token: token), ChangesPage.init(document:))
    }

    /// Like `history`, with each message still encoded.
    public func encodedHistory(
        of conversation: ConversationID, after seq: Int64, token: String
    ) async throws(APIError) -> EncodedHistoryPage {
        let path = "/v1/conversations/\(conversation)/messages?after=\(seq)&limit=200"
        return try await decode(HTTPRequest(path: path, token: token), EncodedHistoryPage.init(document:))
    }

    public func digest(
        of conversation: ConversationID, after seq: Int64, limit: Int = 20, token: String
    ) async throws(APIError) -> DigestPage {
        let path = "/v1/conversations/\(conversation)/digest?after=\(seq)&limit=\(limit)"
        return try await decode(HTTPRequest(path: path, token: token), DigestPage.init(document:))
    }

    /// - Parameter cursor: from the previous page. Its characters need no encoding.
    public func conversations(before cursor: String?, token: String) async throws(APIError) -> ConversationsPage {
        let path = "/v1/conversations?limit=100" + (cursor.map { "&before=\($0)" } ?? "")
        return try await decode(HTTPRequest(path: path, token: token), ConversationsPage.init(document:))
    }

    public func members(of conversation: ConversationID, token: String) async throws(APIError) -> [MembersPage.Member] {
        var members: [MembersPage.Member] = []
        var cursor: String?
        repeat {
            let path = "/v1/conversations/\(conversation)/members?limit=1000" + (cursor.map { "&after=\($0)" } ?? "")
            let page = try await decode(HTTPRequest(path: path, token: token), MembersPage.init(document:))
            members += page.members
            cursor = page.nextCursor
        } while cursor != nil
        return members
    }

    public func send(_ message: OutgoingMessage, token: String) async throws(APIError) -> MessageView {
        try await decode(message.request(token: token), MessageView.init(document:))
    }

    private func decode<Value>(
        _ request: HTTPRequest, _ decode: ([UInt8]) throws -> Value
    ) async throws(APIError) -> Value {
        let body = try await call(request)
        do {
            return try decode(body)
        } catch {
            throw APIError(request: "\(request.method) \(request.path)", status: 200, detail: "\(error)")
        }
    }

    private func error(_ request: HTTPRequest, _ reply: Reply) -> APIError {
        APIError(
            request: "\(request.method) \(request.path)", status: reply.status,
            detail: reply.body.withUnsafeBytes(problemDetail))
    }
}

/// Returns `code: detail` of a problem document (RFC 9457), or an empty string for other documents.
public func problemDetail(_ document: UnsafeRawBufferPointer) -> String {
    var (code, detail) = ("", "")
    var reader = JSONReader(document)
    do {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "code": code = try reader.string()
            case "detail": detail = try reader.string()
            default: try reader.skip()
            }
        }
    } catch {
        return ""
    }
    return "\(code): \(detail)"
}

/// A message to send. Its id makes repetitions harmless.
public struct OutgoingMessage: Sendable {
    public let conversation: ConversationID
    public let id: MessageID
    public let text: String
    public let replyTo: MessageID?

    public init(conversation: ConversationID, id: MessageID, text: String, replyTo: MessageID? = nil) {
        self.conversation = conversation
        self.id = id
        self.text = text
        self.replyTo = replyTo
    }

    public func request(token: String) -> HTTPRequest {
        var body = ByteBuffer(capacity: 512)
        body.beginObject()
        body.append(key: "id", json: id)
        body.append(key: "text", json: text)
        body.append(key: "replyTo", json: replyTo)
        body.endObject()
        return HTTPRequest(
            method: "POST", path: "/v1/conversations/\(conversation)/messages", token: token, body: body.array)
    }
}
