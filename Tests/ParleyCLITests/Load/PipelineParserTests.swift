import Testing

@testable import ParleyLoad

@Suite struct PipelineParserTests {
    private func answers(_ text: String, pieces: Int = .max) throws -> [String] {
        var parser = PipelineParser()
        var responses: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try rest.prefix(pieces).withUnsafeBytes { bytes in
                try parser.parse(bytes) { response in
                    let wait = response.retryAfter.map { " after \($0.components.seconds)" } ?? ""
                    responses.append("\(response.status)\(wait) \(String(decoding: response.body, as: UTF8.self))")
                }
            }
            rest = rest.dropFirst(pieces)
        }
        if !parser.keepsAlive { responses.append("closes") }
        return responses
    }

    private static let stream = """
        HTTP/1.1 201 Created\r\nDate: Sat, 21 Nov 2026 14:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a":12}\
        HTTP/1.1 204 No Content\r\nDate: x\r\n\r\nHTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nCONTENT-LENGTH:  0\r\n\r\n\
        HTTP/1.1 200 OK\nContent-Length: 3\n\n\r\n\n
        """

    @Test("pipelined answers come whole and in order, however the bytes are cut", arguments: Array(1...40) + [.max])
    func pieces(size: Int) throws {
        #expect(try answers(Self.stream, pieces: size) == [#"201 {"a":12}"#, "204 ", "503 after 2 ", "200 \r\n\n"])
    }

    @Test("a body larger than any buffer comes whole")
    func largeBody() throws {
        let body = String(repeating: "x", count: 600_000)
        let text = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        #expect(try answers(text, pieces: 65_536) == ["200 \(body)"])
    }

    @Test("the server's wish to close is heard")
    func close() throws {
        let text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        #expect(try answers(text) == ["400 ", "closes"])
    }

    @Test(
        "what is no answer is refused",
        arguments: [
            "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000),
        ])
    func refused(text: String) {
        #expect(throws: PipelineParser.Malformed.self) { try answers(text) }
    }
}
