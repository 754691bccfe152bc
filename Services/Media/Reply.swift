import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// A response to a client that is not the content of a file.
struct Reply: Error, Sendable {
    var status: Int
    var type = ContentType.json
    var headers: [ResponseHeader] = []
    var body: [UInt8] = []

    init(_ status: Int, headers: [ResponseHeader] = []) {
        self.status = status
        self.headers = headers
    }

    init(_ status: Int, json body: borrowing ByteBuffer, headers: [ResponseHeader] = []) {
        self.status = status
        self.headers = headers
        self.body = body.array
    }

    /// - Parameter status: if it is not the code's own.
    init(_ problem: Problem, status: Int? = nil, headers: [ResponseHeader] = []) {
        self.status = status ?? Int(problem.code.status)
        self.headers = headers + Refusal.retryHeaders(of: problem)
        type = .problem
        var buffer = ByteBuffer()
        problem.writeJSON(to: &buffer, status: status)
        body = buffer.array
    }

    func with(_ further: [ResponseHeader]) -> Reply {
        var reply = self
        reply.headers += further
        return reply
    }

    @Reactor func send(to responder: Responder) {
        body.withUnsafeBytes { responder.respond(status, type, headers: headers, body: $0) }
    }

    @Reactor func send(to stream: RequestStream) {
        body.withUnsafeBytes { stream.respond(status, type, headers: headers, body: $0) }
    }

    var refusal: Refusal {
        var buffer = ByteBuffer()
        buffer.append(body)
        return Refusal(status, type, headers: headers, body: buffer)
    }
}

extension Reply {
    /// The same for what does not exist, what nobody may see any more, and what the caller may not see.
    static var notFound: Reply { Reply(Problem(.notFound, "there is no such file")) }

    static var unavailable: Reply { Reply(Problem(.unavailable, "the database is not reached at the moment")) }
}
