import Bytes
import Models
import Testing
import Wire

@testable import Ingest

@Suite struct BatchItemsTests {
    private func items(_ json: String) throws(Problem) -> [String] {
        let bytes = Array(json.utf8)
        let result: Result<[String], Problem> = bytes.withUnsafeBytes { bytes in
            Result { () throws(Problem) in
                try BatchItems(bytes, limits: ClientLimits()).items.map { String(decoding: $0, as: UTF8.self) }
            }
        }
        return try result.get()
    }

    @Test(
        "the items are separated whatever they contain",
        arguments: [
            (#"{"messages":[]}"#, []),
            (
                #"{"x":[1],"messages":[ {"a":"]},\""} , 7 ,"s,]",null] ,"y":{}}"#,
                [#"{"a":"]},\""}"#, "7 ", #""s,]""#, "null"]
            ),
            (
                #"{"messages":[{"a":"\u0000"},{"b":[[{}],"\ud800"]}]}"#,
                [#"{"a":"\u0000"}"#, #"{"b":[[{}],"\ud800"]}"#]
            ),
        ])
    func cut(json: String, items: [String]) { #expect((try? self.items(json)) == items) }

    @Test(
        "a malformed list is refused as a whole",
        arguments: [
            "", "{}", "[]", #"{"messages":null}"#, #"{"messages":{}}"#, #"{"messages":[}"#, #"{"messages":[,]}"#,
            #"{"messages":[1,]}"#, #"{"messages":["a]}"#, #"{"messages":[{]}"#,
            #"{"messages":[],"messages":[]}"#, #"{"messages":[1]"#, #"{"messages":[1]}x"#,
        ])
    func refused(json: String) { #expect(throws: Problem.self) { try items(json) } }

    @Test("a batch has a limit")
    func limit() {
        func json(_ count: Int) -> String {
            "{\"messages\":[\(Array(repeating: "1", count: count).joined(separator: ","))]}"
        }
        #expect((try? items(json(500)))?.count == 500)
        #expect(throws: Problem(.tooLarge, "messages: at most 500 in a batch")) { try items(json(501)) }
    }
}

@Suite struct BatchOutcomeTests {
    private let first = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)
    private let second = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d91")!)

    /// An outcome with items 0, 2 and 4 for the first conversation, 1 for the second, and 3 refused.
    private func outcome() -> BatchOutcome {
        var outcome = BatchOutcome(count: 5)
        outcome.add(0, to: first)
        outcome.add(1, to: second)
        outcome.add(2, to: first)
        outcome.refuse(3, Problem(.invalid, "text: is missing"))
        outcome.add(4, to: first)
        return outcome
    }

    private func text(_ outcome: BatchOutcome) -> String {
        var buffer = ByteBuffer()
        outcome.write(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func statuses(_ outcome: BatchOutcome) -> [String] {
        text(outcome).split(separator: "{\"status\":").dropFirst().map { String($0.prefix(3)) }
    }

    @Test("messages of one conversation form one group, in their order")
    func groups() {
        #expect(
            outcome().groups == [
                BatchOutcome.Group(conversation: first, positions: [0, 2, 4]),
                BatchOutcome.Group(conversation: second, positions: [1]),
            ])
    }

    @Test("each item has its own result at its position")
    func results() {
        var outcome = outcome()
        var one = ByteBuffer(), three = ByteBuffer()
        SendResponse.append(status: 200, to: &one) { $0.append("{\"n\":1}" as StaticString) }
        for number: UInt8 in [0, 2] {
            SendResponse.append(status: 201, to: &three) {
                $0.append("{\"n\":" as StaticString)
                $0.append(UInt8(ascii: "0") + number)
                $0.append(UInt8(ascii: "}"))
            }
        }
        SendResponse.append(Problem(.notReplyable, "replyTo"), to: &three)
        outcome.receive(status: 200, one.bytes, for: 1)
        outcome.receive(status: 200, three.bytes, for: 0)
        #expect(
            text(outcome) == """
                {"results":[{"status":201,"message":{"n":0}},{"status":200,"message":{"n":1}},\
                {"status":201,"message":{"n":2}},\
                {"status":400,"problem":{"status":400,"title":"The request is malformed",\
                "detail":"text: is missing","code":"invalid"}},\
                {"status":422,"problem":{"status":422,"title":"The parent cannot be replied to","detail":"replyTo",\
                "code":"notReplyable"}}]}
                """)
    }

    @Test("a temporary refusal skips the later items; an unknown outcome or a permanent refusal applies to all")
    func failures() {
        for (code, rest) in [(Problem.Code.overloaded, "503"), (.unavailable, "503"), (.notFound, "404")] {
            var outcome = outcome()
            outcome.fail(0, Problem(code, "detail"))
            outcome.fail(1, Problem(.forbidden, "detail"))
            #expect(statuses(outcome).filter { $0 != "403" && $0 != "400" }.allSatisfy { $0 == rest })
            #expect(text(outcome).components(of: "\"skipped\"") == (code == .overloaded ? 2 : 0))
        }
    }

    @Test("an unreadable response leaves no item without a result", arguments: 0..<20)
    func truncated(length: Int) {
        var outcome = outcome()
        var payload = ByteBuffer()
        for _ in 0..<3 { SendResponse.append(status: 201, to: &payload) { $0.append("{}" as StaticString) } }
        outcome.receive(status: 200, UnsafeRawBufferPointer(rebasing: payload.bytes[..<length]), for: 0)
        outcome.fail(1, Problem(.unavailable, "detail"))
        #expect(text(outcome).components(of: "\"unavailable\"") >= 2)
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
