import Archives
import JSON
import Reactor
import ServiceKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import ParleyCLI

@Suite struct ReplayTests {
    init() { ReactorThread.start() }

    private let sources = (0..<3).map { number in
        IRCConversation(
            name: "c\(number)",
            messages: (0..<40).map { position in
                .init(
                    sender: "ann", text: "message \(position) \"\\\n 👋", parent: position % 5 == 4 ? position - 3 : nil)
            })
    }

    @Reactor private func replay(
        against fault: UnfaithfulServer.Fault, strictOrder: Bool = false, pace: ReplaySender.Pace = .inFlight(10)
    ) async throws -> ReplayReport {
        let server = try UnfaithfulServer(fault)
        defer { server.stop() }
        let words = [
            "--http", "http://127.0.0.1:\(server.port)", "--ws", "ws://127.0.0.1:\(server.port)", "--secret-file",
            "/etc/hostname",
        ]
        let arguments = try Arguments(
            words, for: CommandDescription(name: "x", summary: "", options: ConnectionArguments.options))
        let plan = try ReplayPlan(sources, run: "test", listeners: 1)
        var settings = Replay.Settings()
        settings.pace = pace
        settings.strictOrder = strictOrder
        settings.connectionsPerEndpoint = 2
        // Waited for in full only if the expected event never comes.
        settings.settleTime = fault == .forgetsReading ? .milliseconds(500) : .seconds(20)
        let replay = Replay(plan, connection: try ConnectionArguments(arguments), settings: settings)
        return try await replay.run(ReplayProgress(isInteractive: false))
    }

    @Test(
        "what a client must survive costs no message", arguments: UnfaithfulServer.Fault.allCases.filter(\.isSurvivable)
    )
    @Reactor func survivable(fault: UnfaithfulServer.Fault) async throws {
        let report = try await replay(against: fault)
        #expect(report.mismatches.samples == [])
        #expect(report.acknowledged == 120)
        #expect(report.deliveries == 123)
        #expect((report.repetitions > 0) == (fault == .refusesNow))
        #expect((report.reconnections > 0) == (fault == .closesSockets || fault == .reloads))
    }

    @Test(
        "a broken promise is found and named",
        arguments: [
            (.altersText, "has another text"), (.losesChange, "after change 4 of"), (.repeatsChange, "came twice"),
            (.losesMessage, "is missing"), (.doublesMessage, "is there twice"), (.forgetsParent, "has another parent"),
            (.refusesForGood, "status 403"), (.forgetsReading, "41 delivered and 0 read"),
            (.digestsAnotherState, "the state of positions 1 to 41"),
            (.digestsOtherChanges, "the changes of positions 1 to 41"),
            (.losesChange, "the changes of positions 1 to 41"),
        ] as [(UnfaithfulServer.Fault, String)])
    @Reactor func noticed(fault: UnfaithfulServer.Fault, complaint: String) async throws {
        let report = try await replay(against: fault)
        #expect(report.mismatches.samples.contains { $0.contains(complaint) }, "\(report.table)")
    }

    @Test("in strict order the history has the order of the file")
    @Reactor func strict() async throws {
        #expect(try await replay(against: .refusesNow, strictOrder: true).mismatches.samples == [])
    }

    @Test("at a fixed rate the replay lasts as long as its messages are due")
    @Reactor func rate() async throws {
        let report = try await replay(against: .none, pace: .rate(400))
        #expect(report.mismatches.samples == [])
        #expect(report.seconds >= 0.29)
    }

    @Test("the report's JSON is what a machine can read")
    @Reactor func json() async throws {
        let report = try await replay(against: .altersText)
        try Array(report.json.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.skip()
            try reader.end()
        }
        #expect(report.json.contains(#""messages":120,"replies":24,"acknowledged":120"#))
    }
}
