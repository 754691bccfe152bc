import Testing

@testable import ParleyCLI

@Suite struct JourneyTests {
    private static let log = """
        {"time":"2026-01-01T00:00:00.005Z","level":"info","service":"fanout","instance":1,"event":"traced: delivered","trace":"t1","parent":"p","conversation":"c","seq":2,"sessions":3}
        {"time":"2026-01-01T00:00:00.006Z","level":"info","service":"fanout","instance":1,"event":"traced: delivered","trace":"t1","parent":"p","conversation":"c","seq":3,"sessions":3}
        {"time":"2026-01-01T00:00:00.005Z","level":"info","service":"store","instance":0,"event":"traced: committed","trace":"t1","parent":"p","conversation":"c","seq":2,"kind":"message.created","message":"m1"}
        {"time":"2026-01-01T00:00:00.005Z","level":"info","service":"store","instance":0,"event":"traced: committed","trace":"t1","parent":"p","conversation":"c","seq":3,"kind":"message.created","message":"m2"}
        {"time":"2026-01-01T00:00:00.003Z","level":"info","service":"ingest","instance":0,"event":"traced: received","trace":"t1","parent":"p","call":"sendBatch"}
        {"time":"2026-01-01T00:00:00.004Z","level":"info","service":"ingest","instance":0,"event":"traced: received","trace":"t2","parent":"p","call":"send"}
        {"time":"2026-01-01T00:00:00.001Z","level":"info","service":"ingest","instance":0,"event":"started"}
        not JSON, though it says "trace":
        """

    private static let lines = log.split(separator: "\n").compactMap { JourneyLine($0) }

    @Test("a message's journey has the lines of its requests in order, without those about other messages")
    func journey() throws {
        #expect(Self.lines.count == 6)
        let journey = JourneyLine.journey(of: "m1", in: Self.lines)
        #expect(journey.map(\.service) == ["ingest-0", "store-0", "fanout-1"])
        #expect(journey.map(\.event) == ["received", "committed", "delivered"])
        #expect(
            journey.last?.text(since: try #require(journey.first))
                == "+2 ms       fanout-1    delivered   trace t1, parent p, conversation c, seq 2, sessions 3")
        #expect(JourneyLine.journey(of: "m3", in: Self.lines).isEmpty)
    }
}
