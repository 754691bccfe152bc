import Archives
import Models
import ParleyClient
import Testing

@testable import ParleyCLI

extension ImportLine {
    init(
        _ kind: ImportRecord.Kind, in conversation: Int, at place: Int = 0, bytes: [UInt8] = Array("line".utf8)
    ) {
        self.init(
            bytes: bytes, kind: kind, conversation: ConversationID(UUIDBytes(high: 0, low: UInt64(conversation))),
            place: .line(place), share: 0)
    }
}

/// A window whose server answers by hand.
private struct Exchange {
    var window: ImportWindow
    /// The places of the lines of this call, as the server got them.
    private(set) var sent: [Int] = []
    private var answered = 0

    init(opens: Bool = false, bounds: ImportWindow.Bounds = .init()) {
        window = ImportWindow(opensDespiteRefusals: opens, bounds: bounds)
    }

    mutating func add(_ lines: ImportLine...) {
        for line in lines { window.add(line) }
        send()
    }

    mutating func send() {
        while let line = window.next() {
            guard case .line(let number) = line.place else { continue }
            sent.append(number)
        }
    }

    /// Answers the next lines with these statuses.
    mutating func answer(_ statuses: Int...) throws {
        for status in statuses {
            answered += 1
            try window.take(ImportResult(line: answered, status: status))
        }
    }

    mutating func endCall() {
        window.callEnded()
        (sent, answered) = ([], 0)
        send()
    }
}

@Suite struct ImportWindowTests {
    @Test("rows that come to a conversation that was imported before are left to a follower, and are no refusals")
    func later() throws {
        for leaves in [true, false] {
            var window = ImportWindow(leavesLaterRows: leaves)
            let lines: [(ImportRecord.Kind, Int64)] = [(.conversation, 1), (.message, 2), (.receipt, 2), (.end, 3)]
            for (kind, row) in lines {
                let id = ConversationID(.zero)
                window.add(ImportLine(bytes: [], kind: kind, conversation: id, place: .row(row), share: 0))
            }
            while window.next() != nil {}
            let ended = ProblemDetails(.importHasEnded)
            try window.take(ImportResult(line: 1, status: 200))
            try window.take(ImportResult(line: 2, status: 409, problem: ended))
            try window.take(ImportResult(line: 3, status: 409, problem: ended))
            #expect(window.laterRows == (leaves ? [2] : []))
            #expect(window.tally.refusals.count == (leaves ? 0 : 2))
            // The end is repeated, which changes nothing.
            #expect(window.next()?.kind == (leaves ? .end : nil))
        }
    }

    @Test("the end of a conversation goes when every other line has its result")
    func end() throws {
        var exchange = Exchange()
        exchange.add(.init(.conversation, in: 1, at: 1), .init(.message, in: 1, at: 2), .init(.end, in: 1, at: 3))
        exchange.add(.init(.conversation, in: 2, at: 4))
        #expect(exchange.sent == [1, 2, 4])
        try exchange.answer(200)
        exchange.send()
        #expect(exchange.sent == [1, 2, 4])
        try exchange.answer(200)
        exchange.send()
        #expect(exchange.sent == [1, 2, 4, 3])
        try exchange.answer(200, 200)
        #expect(exchange.window.isSettled)
        #expect(exchange.window.tally.stored == [.conversation: 2, .message: 1, .end: 1])
    }

    @Test("a conversation of which a record was refused is opened only if that is wanted", arguments: [false, true])
    func refused(opens: Bool) throws {
        var exchange = Exchange(opens: opens)
        exchange.add(.init(.conversation, in: 1, at: 1), .init(.message, in: 1, at: 2), .init(.end, in: 1, at: 3))
        try exchange.answer(200, 409)
        exchange.send()
        #expect(exchange.sent == (opens ? [1, 2, 3] : [1, 2]))
        if opens { try exchange.answer(200) }
        exchange.window.finish()
        let tally = exchange.window.tally
        #expect(exchange.window.isSettled)
        #expect(tally.refusals.count == 1 && tally.refusals.first.first?.place == .line(2))
        #expect((tally.unopened, tally.unended, tally.unsent) == (opens ? 0 : 1, 0, opens ? 0 : 1))
    }

    @Test("what belongs to a conversation that could not be begun is not sent")
    func unopened() throws {
        var exchange = Exchange()
        exchange.add(.init(.conversation, in: 1, at: 1), .init(.message, in: 1, at: 2))
        try exchange.answer(400, 404)
        exchange.add(.init(.message, in: 1, at: 3), .init(.conversation, in: 2, at: 4), .init(.end, in: 1, at: 5))
        #expect(exchange.sent == [1, 2, 4])
        try exchange.answer(200)
        let tally = exchange.window.tally
        #expect(exchange.window.isSettled)
        #expect((tally.refusals.count, tally.unsent, tally.unopened) == (2, 2, 1))
    }

    @Test("a call that is cut off goes on with the first line without a result")
    func cutOff() throws {
        var exchange = Exchange()
        exchange.add(.init(.conversation, in: 1, at: 1), .init(.message, in: 1, at: 2), .init(.message, in: 1, at: 3))
        try exchange.answer(200)
        exchange.endCall()
        #expect(exchange.sent == [2, 3])
        try exchange.answer(200, 200)
        #expect(exchange.window.isSettled)
    }

    @Test("what the server has no time for is repeated before everything that came later")
    func postponed() throws {
        var exchange = Exchange()
        for place in 1...5 { exchange.add(.init(.message, in: place % 2, at: place)) }
        try exchange.answer(503, 200, 503)
        #expect(exchange.window.isDisturbed)
        exchange.endCall()
        #expect(exchange.sent == [1, 3, 4, 5])
        #expect(!exchange.window.isDisturbed)
        try exchange.answer(200, 200, 200, 200)
        #expect(exchange.window.isSettled && exchange.window.tally.stored == [.message: 5])
    }

    @Test("lines without content have a number and no result")
    func blank() throws {
        var exchange = Exchange()
        exchange.add(.init(.message, in: 1, at: 1))
        exchange.window.countBlankLine()
        exchange.add(.init(.message, in: 1, at: 2))
        try exchange.answer(200)
        try exchange.window.take(ImportResult(line: 3, status: 200))
        #expect(exchange.window.isSettled)
    }

    @Test("a result for another line than the next is a violation", arguments: [0, 2, 7])
    func violation(line: Int) {
        var exchange = Exchange()
        exchange.add(.init(.message, in: 1, at: 1))
        #expect(throws: ImportResultReader.Violation.self) {
            try exchange.window.take(ImportResult(line: line, status: 200))
        }
    }

    @Test("there is room for so many lines, and so many bytes")
    func bounds() throws {
        var few = Exchange(bounds: .init(lines: 2, bytes: 1_000))
        few.add(.init(.message, in: 1), .init(.message, in: 1))
        #expect(!few.window.hasRoom)
        try few.answer(200)
        #expect(few.window.hasRoom)
        var small = Exchange(bounds: .init(lines: 1_000, bytes: 8))
        small.add(.init(.message, in: 1), .init(.end, in: 1))
        #expect(!small.window.hasRoom)
        try small.answer(200)
        #expect(small.window.hasRoom)
    }

    @Test("a conversation without an end in the archive is counted")
    func unended() throws {
        var exchange = Exchange()
        exchange.add(.init(.conversation, in: 1))
        try exchange.answer(200)
        exchange.window.finish()
        #expect(exchange.window.tally.unended == 1 && !exchange.window.tally.isFaultless)
    }
}

@Suite struct ImportResultTests {
    private let response = """
        {"line":1,"status":200}
        {"line":2,"status":409,"problem":{"type":"about:blank","title":"x","status":409,"code":"conflict","detail":"é"}}

        """

    @Test("results are the same wherever the response is cut")
    func cuts() throws {
        let bytes = Array(response.utf8)
        for cut in bytes.indices {
            var reader = ImportResultReader()
            var results: [ImportResult] = []
            for part in [bytes[..<cut], bytes[cut...]] {
                try part.withUnsafeBytes { try reader.take($0) { results.append($0) } }
            }
            let problem = ProblemDetails(title: "x", status: 409, code: .known(.conflict), detail: "é")
            #expect(results == [.init(line: 1, status: 200), .init(line: 2, status: 409, problem: problem)])
        }
    }

    @Test(
        "a response of something else is a violation",
        arguments: [
            "<html>\n", "\n", "{}x\n", "{}\n", #"{"line":1,"status":400,"problem":7}"# + "\n",
            String(repeating: "x", count: 70_000),
        ])
    func violation(text: String) {
        var reader = ImportResultReader()
        #expect(throws: ImportResultReader.Violation.self) {
            try Array(text.utf8).withUnsafeBytes { try reader.take($0) { _ in } }
        }
    }

    @Test("a server that makes up reasons fills no memory")
    func reasons() {
        var refusals = Refusals()
        for number in 0..<1_000 {
            refusals.add(.init(name: "code", sentence: "\(number)"), at: .line(number), .message)
        }
        #expect(refusals.count == 1_000 && refusals.counts.count == 101 && refusals.first.count == 20)
    }
}
