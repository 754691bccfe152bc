import Testing

@testable import Media

private func frame(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    [tag] + (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (24 - 8 * $0)) } + content
}

/// All events, with pieces of a part joined.
private func events(_ inputs: [[UInt8]]) -> [InspectionFrames.Event] {
    var frames = InspectionFrames(), found: [InspectionFrames.Event] = []
    for input in inputs {
        var rest = input[...]
        loop: while true {
            let event = frames.next(&rest)
            switch (event, found.last) {
            case (.needsMore, _): break loop
            case (.piece(let part, let bytes), .piece(let former, let before)?) where part == former:
                found[found.count - 1] = .piece(part, before + bytes)
            default: found.append(event)
            }
            if event == .malformed { return found }
        }
    }
    return found
}

struct InspectionTests {
    private let output =
        frame(1, Array("{}".utf8)) + frame(2, [1, 2, 3]) + frame(2, [4]) + frame(2, []) + frame(3, [5, 6])
        + frame(5, [])

    @Test("Frames are read whatever pieces they come in", arguments: 1...7)
    func pieces(size: Int) {
        let inputs = stride(from: 0, to: output.count, by: size).map {
            Array(output[$0..<min($0 + size, output.count)])
        }
        #expect(
            events(inputs) == [
                .facts(Array("{}".utf8)), .piece(.content, [1, 2, 3, 4]), .piece(.small, [5, 6]), .end,
            ])
    }

    @Test(
        "What no inspector writes is found",
        arguments: [
            frame(0, []), frame(6, [1]), frame(1, []), frame(1, [1]) + frame(1, [1]), frame(5, [1]),
            [1, 0, 0, 0x20, 1], [1, 0xFF, 0xFF, 0xFF, 0xFF],
        ])
    func malformed(bytes: [UInt8]) { #expect(events([bytes]).last == .malformed) }

    @Test("Facts are read")
    func facts() throws {
        let waveform = (0..<64).map(String.init).joined(separator: ",")
        let facts = try #require(
            InspectedFacts(
                Array(
                    """
                    {"verdict":"ready","type":"image/heic","contentType":"image/jpeg","width":40,"height":30,"duration":1.5,\
                    "thumbhash":"YWJjZA==","waveform":[\(waveform)],"later":{"a":[1]},\
                    "thumbnails":[{"size":"small","width":4,"height":3,"type":"image/webp"},{"size":"huge","width":1,"height":1}]}
                    """.utf8)))
        #expect(facts.isReady && facts.type == "image/jpeg" && facts.content.durationMilliseconds == 1500)
        #expect(facts.content.width == 40 && facts.content.thumbhash == "YWJjZA==")
        #expect(facts.thumbnails == [.init(part: .small, width: 4, height: 3)])
        #expect(facts.content.waveform?.hasPrefix("[0,1,2") == true)
        #expect(
            InspectedFacts.json(facts.thumbnails)
                == #"[{"size":"small","width":4,"height":3,"type":"image/webp"}]"#)
    }

    @Test(
        "A refusal has a reason",
        arguments: [
            (#"{"verdict":"refused","reason":"tooLarge"}"#, "tooLarge"), (#"{"verdict":"refused"}"#, "unreadable"),
            (#"{"verdict":"refused","reason":"<script>"}"#, "unreadable"),
        ])
    func refusals(json: String, reason: String) throws {
        let facts = try #require(InspectedFacts(Array(json.utf8)))
        #expect(!facts.isReady && facts.reason == reason)
    }

    @Test(
        "What is no verdict is none",
        arguments: ["", "{}", "[]", #"{"verdict":"maybe"}"#, #"{"verdict":"ready""#, #"{"verdict":"ready"} x"#])
    func none(json: String) { #expect(InspectedFacts(Array(json.utf8)) == nil) }

    @Test("What is out of range, or no media type, is left out")
    func outOfRange() throws {
        let facts = try #require(
            InspectedFacts(
                Array(
                    #"{"verdict":"ready","type":"text/html; charset=x","width":-1,"height":9999999,"duration":1e300,"waveform":[1],"thumbhash":"?"}"#
                        .utf8)))
        #expect(facts.type == nil && facts.content == ContentFacts())
    }
}
