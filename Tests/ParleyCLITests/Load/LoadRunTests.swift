import Reactor
import TestSupport
import Testing

@testable import CommandSupport
@testable import ParleyLoad

/// Complete runs against a server that keeps or breaks its promises.
@Suite struct LoadRunTests {
    init() { ReactorThread.start() }

    @Reactor private func run(against fault: UnfaithfulServer.Fault, _ words: [String]) async throws -> LoadReport {
        let server = try UnfaithfulServer(fault)
        defer { server.stop() }
        let address = "127.0.0.1:\(server.port)"
        let arguments = try Arguments(
            ["pairs", "--pairs", "2", "--duration", "400ms", "--warmup", "0ms", "--http", "http://\(address)", "--ws"]
                + ["ws://\(address)", "--secret-file", "/etc/hostname"] + words,
            for: LoadCommand.description)
        let world = LoadWorld(try LoadSettings(arguments))
        return try await PairsScenario(arguments).run(in: world)
    }

    @Test("what a client must survive loses nothing", arguments: UnfaithfulServer.Fault.allCases.filter(\.isSurvivable))
    @Reactor func survivable(fault: UnfaithfulServer.Fault) async throws {
        let report = try await run(against: fault, ["--rate", "200"])
        #expect(report.mismatches.samples == [])
        #expect(report.units > 0)
        let figures = Dictionary(uniqueKeysWithValues: report.figures.map { ($0.key, $0.value) })
        #expect((figures["repeatedRequests"] ?? 0 > 0) == (fault == .refusesNow))
        #expect((figures["reconnections"] ?? 0 > 0) == (fault == .closesSockets || fault == .reloads))
        #expect((figures["reloads"] ?? 0 > 0) == (fault == .reloads))
    }

    @Test(
        "a server that lies is caught",
        arguments: [
            (.altersText, "has another text"), (.losesChange, "changes 5 to 5 did not come"),
            (.repeatsChange, "came twice"),
            (.losesMessage, "is missing from the history"), (.doublesMessage, "is there twice"),
            (.refusesForGood, "status 403"), (.acknowledgesElsewhere, "acknowledged was 7777"),
        ] as [(UnfaithfulServer.Fault, String)])
    @Reactor func caught(fault: UnfaithfulServer.Fault, complaint: String) async throws {
        let report = try await run(against: fault, ["--in-flight", "1", "--settle", "300ms", "--duration", "100ms"])
        #expect(report.mismatches.samples.contains { $0.contains(complaint) }, "\(report.table)")
    }

    @Test(
        "a closed loop keeps what it was told in flight, over one connection or over several", arguments: [true, false])
    @Reactor func closedLoop(isPipelined: Bool) async throws {
        let words = ["--in-flight", "5", "--duration", "100ms"] + (isPipelined ? [] : ["--no-pipelining"])
        let report = try await run(against: .none, words)
        #expect(report.mismatches.samples == [])
        #expect(report.units > 10)
        #expect(report.latencies.map(\.key) == ["sendToAck", "sendToReceive"])
        #expect(report.latencies.allSatisfy { $0.histogram.count >= UInt64(report.units) })
    }

    @Test(
        "what makes no sense is refused in words",
        arguments: [
            (["parade"], "there is no scenario \"parade\"; there are pairs, room"),
            (["pairs", "--members", "5"], "--members means nothing to pairs; see parley load --help"),
            (["pairs", "--pairs", "0"], "--pairs must be a whole number from 1 to 100000"),
            (["pairs", "--no-pipelining", "--connections", "3"], "--connections are shared by pipelining"),
            (["history", "--page", "100", "--messages", "10"], "--page must not be more than --messages"),
            (["idle", "--clients", "1000000"], "open files"),
        ])
    func refusals(words: [String], complaint: String) {
        let refused = #expect(throws: UsageError.self) {
            try LoadCommand(
                Arguments(words + ["--secret-file", "/etc/hostname"], for: LoadCommand.description))
        }
        #expect(refused?.text.contains(complaint) == true, "\(refused?.text ?? "")")
    }
}
