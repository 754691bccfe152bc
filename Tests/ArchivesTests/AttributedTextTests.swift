import Testing

@testable import Archives

/// Bytes as Messages writes them, by hand.
@Suite struct AttributedTextTests {
    @Test(
        "a text is read whatever the form of its length",
        arguments: [0, 1, 0x7E, 0x7F, 0x80, 0x81, 0x82, 0x91, 0x92, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000])
    func lengths(count: Int) throws {
        let text = String(repeating: "x", count: count)
        let body = try #require(AttributedText(TypedStreamExample.body(text, parts: [count])))
        #expect(body.text == text)
        #expect(body.isComplete)
    }

    @Test("runs are counted in UTF-16, and know their part")
    func parts() throws {
        let body = try #require(AttributedText(TypedStreamExample.body("🧗é!", parts: [2, 2])))
        #expect(body.runs.map(\.text) == ["🧗", "é!"])
        #expect(body.runs.map(\.part) == [0, 1])
        #expect(body.isComplete)
    }

    @Test("a run that ends within a character of two units leaves the rest of the text without attributes")
    func halfCharacter() throws {
        let body = try #require(AttributedText(TypedStreamExample.body("🧗é", parts: [1, 2])))
        #expect(body.text == "🧗é")
        #expect(!body.isComplete)
    }

    @Test("a stream that ends early is no text, or the whole text without its attributes")
    func truncated() throws {
        let whole = TypedStreamExample.body("Sunday, nine?", parts: [13])
        var read = 0
        for count in whole.indices {
            guard let body = AttributedText(Array(whole[..<count])) else { continue }
            #expect(body.text == "Sunday, nine?")
            #expect(!body.isComplete)
            read += 1
        }
        #expect(read > 20)
    }

    @Test("one long name in many places is not taken: it would cost memory for each", .timeLimit(.minutes(1)))
    func longNames() throws {
        let body = try #require(AttributedText(TypedStreamExample.attachments(name: 1_000_000, places: 20_000)))
        #expect(body.runs.count == 20_000 && body.runs.allSatisfy { $0.attachment == nil })
        let usual = try #require(AttributedText(TypedStreamExample.attachments(name: 40, places: 3)))
        #expect(
            usual.isComplete
                && usual.runs.map(\.attachment) == Array(repeating: String(repeating: "g", count: 40), count: 3))
    }

    @Test(
        "what names more than there is, or nests without end, is refused in time", arguments: TypedStreamExample.bombs)
    func bombs(bytes: [UInt8]) {
        let stream = TypedStream(bytes)
        #expect(!stream.isComplete)
        #expect(stream.items.count <= bytes.count)
    }
}
