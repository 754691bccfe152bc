import Bytes
import Models
import TestSupport
import Testing
import Wire

@testable import Ingest

private func conversation(_ number: Int) -> String { "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d9\(number)" }

private func line(_ number: Int, in group: Int) -> String {
    #"{"type":"renamed","conversationId":"\#(conversation(group))","title":"\#(number)","at":"2020-01-01T00:00:00Z"}"#
}

private func receipt(_ number: Int, in group: Int) -> String {
    #"{"type":"receipt","conversationId":"\#(conversation(group))","userId":"\#(number)","kind":"read","throughMessageId":"\#(conversation(group))","at":"2020-01-01T00:00:00Z"}"#
}

private func end(of group: Int) -> String { #"{"type":"end","conversationId":"\#(conversation(group))"}"# }

/// What a request carries: titles, the users of receipts, and `end`.
private func content(of request: ImportStream.Request) -> [String] {
    var body = ByteBuffer()
    request.write(to: &body)
    var reader = ByteReader(body.bytes)
    guard request.destination == .store else {
        return try! ImportReceipts(from: &reader).receipts.map(\.user.name)
    }
    var content: [String] = []
    try! ImportRecords(from: &reader).forEachRecord { record in
        switch record {
        case .title(let title): content.append(title.title)
        default: content.append("end")
        }
    }
    return content
}

/// Services that answer in any order, and keep what they were sent.
private struct Peer {
    var stream: ImportStream
    private(set) var inFlight: [ImportStream.Request] = []
    private(set) var stored: [ConversationID: [String]] = [:]
    private(set) var output = ""

    init(_ bounds: ImportStream.Bounds = .init(), lineBytes: Int? = nil) {
        var bounds = bounds
        if let lineBytes { bounds.lineBytes = lineBytes }
        stream = ImportStream(limits: ClientLimits(), bounds: bounds)
    }

    mutating func take(_ text: some StringProtocol) {
        Array(text.utf8).withUnsafeBytes { stream.take($0) }
        send()
    }

    mutating func send() {
        while let request = stream.nextRequest() { inFlight.append(request) }
    }

    /// Stores a request in flight, and refuses the records that `refuses` says.
    mutating func answer(_ index: Int = 0, refusing refuses: (String) -> Bool = { _ in false }) {
        let request = inFlight.remove(at: index)
        var payload = ByteBuffer()
        for record in content(of: request) {
            if refuses(record) {
                SendResponse.append(Problem(.conflict, "no"), to: &payload)
            } else {
                stored[request.conversation, default: []].append(record)
                SendResponse.append(status: 200, to: &payload) { _ in }
            }
        }
        stream.receive(status: 200, payload.bytes, for: request)
        send()
    }

    mutating func fail(_ index: Int = 0) {
        stream.fail(inFlight.remove(at: index), with: Problem(.unavailable, "away"))
        send()
    }

    /// Returns the lines that have results since the last call, as line and status.
    mutating func results(upTo bytes: Int = 1 << 20) -> [String] {
        var buffer = ByteBuffer()
        stream.writeResults(to: &buffer, upTo: bytes)
        return String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map { line in
            let numbers = line.matches(of: #/"(?:line|status)":(\d+)/#).prefix(2).map { String($0.1) }
            return numbers.joined(separator: ":")
        }
    }
}

@Suite struct ImportStreamTests {
    @Test(
        "what arrives while a conversation's request is in flight forms the next; conversations do not wait for others")
    func requests() {
        var peer = Peer()
        peer.take(line(1, in: 1) + "\n")
        peer.take(line(2, in: 1) + "\n" + line(3, in: 2) + "\n" + line(4, in: 1) + "\n")
        #expect(peer.inFlight.map(\.count) == [1, 1])
        peer.answer(1)
        #expect(peer.results().isEmpty, "the first line has no result yet")
        peer.answer()
        #expect(peer.results() == ["1:200"])
        #expect(peer.inFlight.map(\.count) == [2])
        peer.answer()
        #expect(peer.results() == ["2:200", "3:200", "4:200"])
        #expect(peer.stream.isDone)
    }

    @Test("lines are numbered as they stand in the body; empty ones have no result, and faulty ones are refused alone")
    func numbers() {
        var peer = Peer()
        peer.take("\n{}\r\n" + line(1, in: 1) + "\n \t\r\nnonsense\n" + line(2, in: 1))
        #expect(peer.results() == ["2:400"])
        peer.stream.finish()
        peer.send()
        peer.answer()
        peer.answer(refusing: { _ in true })
        #expect(peer.results() == ["3:200", "5:400", "6:409"])
    }

    @Test("a line that is too long is refused, and the one behind it is read")
    func longLine() {
        var peer = Peer(lineBytes: 200)
        for _ in 0..<100 { peer.take(String(repeating: "x", count: 150)) }
        peer.take("\n" + line(1, in: 1) + "\n" + String(repeating: "y", count: 500) + "\n")
        peer.answer()
        #expect(peer.results() == ["1:413", "2:200", "3:413"])
    }

    @Test("behind a request without a result nothing more of its conversation is sent")
    func failure() {
        var peer = Peer()
        peer.take(line(1, in: 1) + "\n" + line(2, in: 1) + "\n" + line(3, in: 2) + "\n")
        peer.take(line(4, in: 1) + "\n")
        peer.fail()
        peer.take(line(5, in: 1) + "\n" + line(6, in: 2) + "\n")
        while !peer.inFlight.isEmpty { peer.answer() }
        #expect(peer.results() == ["1:503", "2:503", "3:200", "4:503", "5:503", "6:200"])
        #expect(peer.stored.values.map { $0 } == [["3", "6"]])
    }

    @Test("it is full at its bounds of lines and of bytes, and goes on when results are written")
    func full() {
        var bounds = ImportStream.Bounds()
        (bounds.lines, bounds.recordsPerRequest) = (10, 3)
        var peer = Peer(bounds)
        for number in 1...10 {
            #expect(!peer.stream.isFull)
            peer.take(line(number, in: 1) + "\n")
        }
        #expect(peer.stream.isFull)
        while !peer.inFlight.isEmpty {
            #expect(peer.inFlight.allSatisfy { $0.count <= 3 })
            peer.answer()
        }
        #expect(peer.stream.isFull, "nobody has written the results")
        #expect(peer.results().count == 10)
        #expect(!peer.stream.isFull)
        bounds.bytes = 100
        peer = Peer(bounds)
        peer.take(String(repeating: " ", count: 100))
        #expect(peer.stream.isFull)
    }

    @Test("results are written in pieces of bounded size, however many there are at once")
    func manyResults() {
        var peer = Peer()
        peer.take(String(repeating: "{}\n", count: 1000))
        #expect(peer.stream.hasResults)
        var results: [String] = []
        while peer.stream.hasResults {
            let piece = peer.results(upTo: 500)
            #expect((1...5).contains(piece.count))
            results += piece
        }
        #expect(results == (1...1000).map { "\($0):400" })
        #expect(peer.stream.isDone)
    }

    @Test(
        "however the body is cut and the store answers, each conversation is stored in order, with a result a line",
        arguments: UInt64(0)..<100)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bounds = ImportStream.Bounds()
        (bounds.recordsPerRequest, bounds.requestsInFlight) = (
            Int.random(in: 1...5, using: &random), Int.random(in: 1...3, using: &random)
        )
        var peer = Peer(bounds)
        let groups = (1...60).map { _ in Int.random(in: 0...4, using: &random) }
        var rest = groups.enumerated().map { line($0 + 1, in: $1) }.joined(separator: "\n")[...]
        var results: [String] = []
        while !rest.isEmpty || !peer.stream.isDone {
            if !rest.isEmpty, Bool.random(using: &random) {
                let piece = rest.prefix(Int.random(in: 1...700, using: &random))
                rest = rest.dropFirst(piece.count)
                peer.take(piece)
                if rest.isEmpty {
                    peer.stream.finish()
                    peer.send()
                }
            } else if let index = peer.inFlight.indices.randomElement(using: &random) {
                peer.answer(index)
            }
            #expect(peer.inFlight.count <= bounds.requestsInFlight)
            #expect(Set(peer.inFlight.map(\.conversation)).count == peer.inFlight.count)
            results += peer.results()
        }
        #expect(results == (1...60).map { "\($0):200" })
        for group in 0...4 {
            let expected = groups.enumerated().filter { $1 == group }.map { String($0.offset + 1) }
            #expect(peer.stored[ConversationID(UUIDBytes(conversation(group))!)] ?? [] == expected)
        }
    }
    @Test("receipts go behind the messages before them, messages do not wait for receipts, and an end waits for all")
    func receipts() {
        var peer = Peer()
        peer.take(line(1, in: 1) + "\n")
        peer.take([receipt(2, in: 1), line(3, in: 1), receipt(4, in: 1)].joined(separator: "\n") + "\n")
        #expect(peer.inFlight.map(content) == [["1"]])
        peer.answer()
        #expect(peer.inFlight.map(content) == [["3"]], "the receipts wait for it, too")
        peer.answer()
        #expect(peer.inFlight.map(content) == [["2", "4"]])
        peer.take([line(5, in: 1), end(of: 1), receipt(7, in: 1), line(8, in: 1)].joined(separator: "\n") + "\n")
        #expect(peer.inFlight.map(content) == [["2", "4"], ["5"]])
        peer.answer(1)
        #expect(peer.inFlight.map(content) == [["2", "4"]], "the end waits for the receipts")
        peer.answer()
        #expect(peer.inFlight.map(content) == [["end", "8"]])
        peer.answer()
        #expect(peer.inFlight.map(content) == [["7"]])
        peer.answer(refusing: { _ in true })
        #expect(peer.results() == (1...6).map { "\($0):200" } + ["7:409", "8:200"])
        #expect(peer.stream.isDone)
    }

    @Test("without a receipt service nothing of the conversation goes on; what the store has is stored")
    func withoutReceiptService() {
        var peer = Peer()
        peer.take([line(1, in: 1), receipt(2, in: 1), line(3, in: 2)].joined(separator: "\n") + "\n")
        peer.answer()
        peer.take(line(4, in: 1) + "\n" + end(of: 1) + "\n" + receipt(6, in: 1) + "\n")
        while let index = peer.inFlight.firstIndex(where: { $0.destination == .store }) { peer.answer(index) }
        peer.fail()
        #expect(peer.inFlight.isEmpty)
        peer.take(receipt(7, in: 1) + "\n")
        #expect(peer.results() == ["1:200", "2:503", "3:200", "4:200", "5:503", "6:503", "7:503"])
    }

    @Test(
        "whatever arrives when, receipts and ends are sent when all they wait for is answered",
        arguments: UInt64(0)..<200)
    func orderOfReceipts(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bounds = ImportStream.Bounds()
        bounds.recordsPerRequest = Int.random(in: 1...5, using: &random)
        bounds.requestsInFlight = Int.random(in: 1...4, using: &random)
        var peer = Peer(bounds)
        var sent = 0
        // By conversation: what has no response yet, in the order of lines.
        var open: [[(isReceipt: Bool, name: String)]] = [[], [], []]
        var results: [String] = []
        while sent < 80 || !peer.stream.isDone {
            if sent < 80, Bool.random(using: &random) {
                sent += 1
                let group = Int.random(in: 0...2, using: &random), dice = Int.random(in: 0...9, using: &random)
                open[group].append((dice >= 5, dice == 0 ? "end" : "\(sent)"))
                let before = peer.inFlight.count
                peer.take(
                    (dice == 0 ? end(of: group) : dice < 5 ? line(sent, in: group) : receipt(sent, in: group)) + "\n")
                for request in peer.inFlight[before...] { check(request, open) }
            } else if let index = peer.inFlight.indices.randomElement(using: &random) {
                let request = peer.inFlight[index], group = number(of: request)
                for name in content(of: request) {
                    let place = open[group].firstIndex { $0 == (request.destination == .receipt, name) }!
                    open[group].remove(at: place)
                }
                let others = peer.inFlight.count - 1
                peer.answer(index)
                for request in peer.inFlight[others...] { check(request, open) }
            }
            #expect(peer.inFlight.count <= bounds.requestsInFlight)
            results += peer.results()
        }
        #expect(results == (1...80).map { "\($0):200" })
        #expect(open.allSatisfy { $0.isEmpty })
    }

    private func number(of request: ImportStream.Request) -> Int {
        (0...2).first { ConversationID(UUIDBytes(conversation($0))!) == request.conversation }!
    }

    /// Nothing that the last record of a request waits for is without a response.
    private func check(_ request: ImportStream.Request, _ open: [[(isReceipt: Bool, name: String)]]) {
        let group = number(of: request), content = content(of: request)
        let open = open[group]
        if request.destination == .receipt {
            let last = open.firstIndex { $0 == (true, content.last!) }!
            #expect(open[..<last].allSatisfy { $0.isReceipt })
        } else if let place = content.firstIndex(of: "end") {
            let end = open.firstIndex { $0 == (false, "end") }!
            #expect(!open[..<end].contains { $0.isReceipt }, "\(place)")
        }
    }
}
