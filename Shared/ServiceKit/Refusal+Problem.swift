import Bytes
import Edge
import JSON
import Models
import Wire

extension Refusal {
    /// A problem sent before the request is handled.
    public init(_ problem: Problem, headers: [ResponseHeader] = []) {
        var body = ByteBuffer()
        problem.writeJSON(to: &body)
        self.init(Int(problem.code.status), .problem, headers: headers + Self.retryHeaders(of: problem), body: body)
    }

    public static func retryHeaders(of problem: Problem) -> [ResponseHeader] {
        problem.retryAfter.map { [ResponseHeader.retryAfter(seconds: $0)] } ?? []
    }

    /// A 405 response with the methods that the path supports (RFC 9110, 15.5.6).
    public static func methodNotAllowed(_ allowed: StaticString) -> Refusal {
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: "status", json: 405)
        body.append(key: "title", json: "Method not allowed" as StaticString)
        body.append(key: "detail", json: "use one of \(allowed)")
        body.append(key: "code", json: Problem.Code.invalid.name)
        body.endObject()
        return Refusal(405, .problem, headers: [ResponseHeader("Allow", allowed.description)], body: body)
    }
}
