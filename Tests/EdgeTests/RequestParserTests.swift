import TestSupport
import Testing

@testable import Edge

/// An event as a connection would see it, with the parts of the request copied.
private enum Seen: Equatable {
    case request(String, target: String, authorization: String?, body: String, keepsAlive: Bool)
    case failure(RequestFailure)
}

/// Parses `pieces` as if each came from a separate read.
private func parse(_ pieces: [[UInt8]], bodyLimit: Int = 1000, headLimit: Int = 4096) -> [Seen] {
    let parser = RequestParser(headLimit: headLimit)
    var seen: [Seen] = []
    for piece in pieces {
        var copy = piece
        let isOver = copy.withUnsafeMutableBytes { bytes in
            var input = bytes
            while !input.isEmpty {
                switch parser.next(&input) {
                case .needsMore: break
                case .head: parser.bodyLimit = bodyLimit
                case .request: seen.append(request(parser))
                case .failure(let reason):
                    seen.append(.failure(reason))
                    return true
                }
            }
            return false
        }
        if isOver { break }
    }
    return seen
}

private func parse(_ text: String, bodyLimit: Int = 1000, headLimit: Int = 4096) -> [Seen] {
    parse([Array(text.utf8)], bodyLimit: bodyLimit, headLimit: headLimit)
}

private func request(_ parser: RequestParser) -> Seen {
    let target = parser.target
    return .request(
        "\(parser.method)",
        target: "\(String(decoding: target.path, as: UTF8.self))?\(String(decoding: target.query, as: UTF8.self))",
        authorization: parser.value(of: .authorization).map { String(decoding: $0, as: UTF8.self) },
        body: String(decoding: parser.body, as: UTF8.self), keepsAlive: parser.keepsAlive)
}

@Suite struct RequestParserTests {
    private static let stream = """
        GET /v1/limits?a=b HTTP/1.1\r\nHost: h\r\nauthorization:  Bearer x \r\nX-Long-Name-That-Nobody-Asks-For: 1\r\n\r\n\
        POST /two HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world\
        PUT /three HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;name=value\r\nchunk\r\n3\r\ned!\r\n0\r\nAuthorization: trailer\r\n\r\n\
        DELETE /four HTTP/1.1\r\nHost: h\r\nAUTHORIZATION: y\r\nConnection: close\r\n\r\n
        """

    private static let expected: [Seen] = [
        .request("get", target: "/v1/limits?a=b", authorization: "Bearer x", body: "", keepsAlive: true),
        .request("post", target: "/two?", authorization: nil, body: "hello world", keepsAlive: true),
        .request("put", target: "/three?", authorization: nil, body: "chunked!", keepsAlive: true),
        .request("delete", target: "/four?", authorization: "y", body: "", keepsAlive: false),
    ]

    @Test("requests that arrive in one piece are separated")
    func onePiece() { #expect(parse(Self.stream) == Self.expected) }

    @Test("wherever the stream is cut, the same requests come out", arguments: UInt64(0)..<300)
    func anyPieces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        #expect(parse(Array(Self.stream.utf8).randomPieces(&random)) == Self.expected)
    }

    @Test(
        "requests that are malformed, or that two parsers could read differently, are refused",
        arguments: [
            (
                "both lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                400
            ),
            (
                "both lengths, other order",
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400
            ),
            ("two lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
            ("list of lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\n", 400),
            ("signed length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n", 400),
            ("huge length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
            ("unknown coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
            ("chunked not last", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n", 400),
            ("bad chunk size", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
            ("space before colon", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc", 400),
            ("folded value", "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\n b\r\n\r\n", 400),
            ("folded in other field", "GET / HTTP/1.1\r\nHost: h\r\nOther: a\r\n\tb\r\n\r\n", 400),
            ("field without name", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400),
            ("bare line feed", "GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", 400),
            ("bare line feed at the end", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\n\r\n", 400),
            ("bare line feed as the end", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\n", 400),
            ("bare line feed before", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("NUL in a value", "GET / HTTP/1.1\r\nHost: h\r\nA: x\u{0}y\r\n\r\n", 400),
            ("no host", "GET / HTTP/1.1\r\n\r\n", 400),
            ("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("two tokens", "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: b\r\nAuthorization: c\r\n\r\n", 400),
            ("unknown method", "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("no method", "\u{1}\u{2}\u{3}\r\n\r\n", 400),
            ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", 400),
            ("space in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
            ("version 3", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
            ("version 0.9", "GET /\r\n\r\n", 505),
            ("large target", "GET /\(String(repeating: "a", count: 5000)) HTTP/1.1\r\n", 431),
            ("large field", "GET / HTTP/1.1\r\nHost: h\r\nA: \(String(repeating: "a", count: 5000))", 431),
            ("many fields", "GET / HTTP/1.1\r\nHost: h\r\n\(String(repeating: "a:b\r\n", count: 1000))", 431),
            (
                "large trailers",
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(String(repeating: "a:b\r\n", count: 1000))",
                431
            ),
            (
                "large chunks",
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n\(String(repeating: "x", count: 1000))\r\n1\r\ny\r\n0\r\n\r\n",
                413
            ),
        ])
    func refused(name: String, text: String, status: Int) {
        #expect(
            status
                == parse(text).last.flatMap { seen in
                    guard case .failure(let reason) = seen else { return nil }
                    return reason.status
                }, "\(name): \(parse(text))")
    }

    @Test("a bare line feed is detected wherever the reads cut it, one in a body is ignored")
    func lineFeeds() {
        for head in ["GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\n"] {
            #expect(parse(head.utf8.map { [$0] }).contains(.failure(.bareLineFeed)))
        }
        let body = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\n\n\n\n"
        for _ in 0..<2 { #expect(parse((body + body).utf8.map { [$0] }).count == 2) }
        #expect(parse(body + body).count == 2)
    }

    @Test("a folded value is detected wherever the reads cut it", arguments: 0..<50)
    func foldCutAnywhere(cut: Int) {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nOther: abc\r\n  def\r\n\r\n".utf8)
        let first = Array(bytes.prefix(cut)), second = Array(bytes.dropFirst(cut))
        #expect(parse([first, second].filter { !$0.isEmpty }) == [.failure(.foldedField)])
        let bytewise = bytes.map { [$0] }
        #expect(parse(bytewise) == [.failure(.foldedField)])
    }

    @Test("random bytes, and requests with random damage, never trap and never hang", arguments: UInt64(0)..<400)
    func damage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = Array(Self.stream.utf8)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        #expect(parse(bytes.randomPieces(&random)).count <= 6)
        let noise = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(parse(noise.randomPieces(&random)).count <= 1)
    }
}

@Suite struct RequestTargetTests {
    private func withTarget<Result>(_ text: String, _ body: (RequestTarget) -> Result) -> Result {
        Array(text.utf8).withUnsafeBytes { body(RequestTarget($0)) }
    }

    @Test(
        "a target is split into path and query",
        arguments: [
            ("/a/b?c=d&e=f", "/a/b", "c=d&e=f"), ("/", "/", ""), ("/a?", "/a", ""), ("/a?b?c", "/a", "b?c"),
            ("/a#b?c", "/a", ""), ("http://host:80/a?b=c", "/a", "b=c"), ("http://host?b=/c", "", "b=/c"),
            ("http://host", "", ""), ("*", "", ""),
            ("", "", ""),
        ])
    func split(text: String, path: String, query: String) {
        withTarget(text) { target in
            #expect(String(decoding: target.path, as: UTF8.self) == path)
            #expect(String(decoding: target.query, as: UTF8.self) == query)
        }
    }

    @Test(
        "a path is split at its slashes",
        arguments: [
            ("/v1/limits", ["v1", "limits"]), ("/", [""]), ("/a//b/", ["a", "", "b", ""]),
        ])
    func segments(text: String, segments: [String]) {
        withTarget(text) { #expect($0.segments.map { String(decoding: $0, as: UTF8.self) } == segments) }
    }

    @Test(
        "a query item is found by its name and decoded",
        arguments: [
            ("limit=5", "limit", "5"), ("a=1&limit=%31%32", "limit", "12"), ("limit=", "limit", ""),
            ("limit", "limit", ""),
            ("q=a+b%2Bc", "q", "a b+c"), ("q=%zz", "q", nil), ("q=%2", "q", nil), ("q=%ff", "q", nil),
            ("xq=1", "q", nil),
            ("q=1&q=2", "q", "1"),
        ] as [(String, String, String?)])
    func items(query: String, name: String, value: String?) {
        withTarget("/?\(query)") { target in
            #expect((name == "q" ? target.queryValue("q") : target.queryValue("limit")) == value)
        }
    }
}

@Suite struct ResponseQueueTests {
    @Test(
        "responses are sent in the order of the requests, whatever order they are made in", arguments: UInt64(0)..<100)
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = ResponseQueue()
        var open: [UInt32] = []
        var left: [UInt8] = []
        var next: UInt8 = 0
        var asked: [UInt8] = []
        var number: [UInt32: UInt8] = [:]
        for _ in 0..<200 {
            if Bool.random(using: &random) || open.isEmpty {
                let ticket = queue.open(ResponseTraits())
                open.append(ticket)
                number[ticket] = next
                asked.append(next)
                next &+= 1
            } else {
                let ticket = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                respond(ticket, [number[ticket]!], &queue, &left)
            }
        }
        for ticket in open { respond(ticket, [number[ticket]!], &queue, &left) }
        #expect(left == asked)
        #expect(queue.outstanding == 0)
    }

    private func respond(_ ticket: UInt32, _ bytes: [UInt8], _ queue: inout ResponseQueue, _ left: inout [UInt8]) {
        guard queue.traits(of: ticket) != nil else { return }
        if queue.isNext(ticket) {
            left += bytes
            queue.removeNext()
            while let early = queue.popEarly() { left += early }
        } else {
            queue.hold(bytes, for: ticket)
        }
    }

    @Test("a ticket has one response, and an unknown ticket has none")
    func once() {
        var queue = ResponseQueue()
        let first = queue.open(ResponseTraits()), second = queue.open(ResponseTraits())
        queue.hold([2], for: second)
        #expect(queue.traits(of: second) == nil)
        #expect(queue.traits(of: first) != nil)
        queue.removeNext()
        #expect(queue.popEarly() == [2])
        #expect(queue.traits(of: first) == nil && queue.traits(of: second) == nil && queue.traits(of: 77) == nil)
    }
}
