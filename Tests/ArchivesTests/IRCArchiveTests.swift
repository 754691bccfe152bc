import Foundation
import Models
import Testing

@testable import Archives

private let today = Timestamp(rfc3339: "2026-01-01T00:00:00.000Z")!

@Suite struct IRCArchiveTests {
    private func records(_ lines: [String]) throws -> ([SourceRecord], ArchiveReport) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("parley-\(UUID()).jsonl")
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        var records: [SourceRecord] = []
        let report = try IRCArchive(path: file.path, now: today)
            .read { records.append($0) }
        return (records, report)
    }

    private let line = """
        {"conversation":"room-2004-11-15_03","messages":[\
        {"n":0,"time":"12:59","sender":"ann","text":"one"},\
        {"n":4,"time":"01:00","sender":"no user","text":"two","replyTo":0},\
        {"n":5,"time":"00:58","sender":"ann","text":" "},\
        {"n":6,"sender":"ann","text":"four"}]}
        """

    @Test("a conversation becomes a group, with its times, its senders and its replies")
    func conversation() throws {
        let (sources, report) = try records([line])
        let coding = RecordLine()
        let records = try sources.map { try $0.record(coding) }
        let check = RecordCheck(now: today)
        #expect(records.allSatisfy { check.take($0) == nil } && check.unended.isEmpty)
        guard case .conversation(let opening) = records[0] else { preconditionFailure("it is opened first") }
        #expect(opening.title == "room-2004-11-15_03" && opening.members.first?.name == "irc:ann")
        #expect(opening.members.last?.name.hasPrefix("archive-") == true && opening.members.count == 2)
        let messages = records.compactMap { record in
            if case .message(let message) = record { message } else { nil }
        }
        #expect(messages.map(\.text) == ["one", "two", "[Empty message]", "four"])
        #expect(messages.map(\.replyTo) == [nil, messages[0].id, nil, nil])
        #expect(
            messages.map(\.createdAt.description)
                == ["12:59", "13:00", "13:00", "13:00"].map { "2004-11-15T\($0):00.000Z" })
        #expect(report.rows == 4 && report.unaccounted == 0)
        #expect(report.notes == [.madeUser: 1, .undated: 2, .empty: 1])
        #expect(sources[2].place.description == "line 1, message 4" && sources[5].place == .line(1))
    }

    @Test("ids are the same in every run")
    func identifiers() throws {
        let coding = RecordLine()
        let runs = try (0..<2).map { _ in try records([line]).0.map { try $0.line(coding) } }
        #expect(runs[0] == runs[1])
    }

    @Test(
        "clocks of 12 and of 24 hours, which nobody tells apart, and days that end",
        arguments: [
            (["12:59", "01:00", "11:30", "00:10"], ["12:59", "13:00", "23:30", "24:10"]),
            (["11:55", "00:05"], ["11:55", "12:05"]),
            (["23:59", "00:00", "23:59"], ["23:59", "24:00", "24:00"]),
            (["22:00", "09:30"], ["22:00", "33:30"]),
            (["10:05", "10:04", "10:06"], ["10:05", "10:05", "10:06"]),
        ])
    func clock(shown: [String], expected: [String]) {
        func minutes(_ time: String) -> Int {
            let parts = time.split(separator: ":").map { Int($0)! }
            return parts[0] * 60 + parts[1]
        }
        let day = Timestamp(rfc3339: "2004-11-15T00:00:00.000Z")!
        var clock = IRCClock(day: day, shown: shown.map(minutes))
        for (time, expected) in zip(shown, expected) {
            _ = clock.advance(to: minutes(time))
            #expect(clock.time.milliseconds - day.milliseconds == Int64(minutes(expected)) * 60_000)
        }
    }

    @Test(
        "a line that cannot be read is named",
        arguments: [
            ("{", "line 2"), (#"{"conversation":"no day","messages":[{"n":1,"sender":"a","text":"b"}]}"#, "YYYY-MM-DD"),
            (#"{"conversation":"c 2004-01-01","messages":[{"n":1,"time":"25:00","sender":"a","text":"b"}]}"#, "HH:MM"),
            (#"{"conversation":"room-2004-11-15_03","messages":[]}"#, "this name"),
        ])
    func unreadable(second: String, complaint: String) {
        let error = #expect(throws: ArchiveError.self) { try records([line, second]) }
        #expect(error?.description.contains(complaint) == true)
    }

    @Test("several files are read one after the other, and each record names its own")
    func sequence() throws {
        let directory = FileManager.default.temporaryDirectory
        let files = [directory.appendingPathComponent("a-\(UUID())"), directory.appendingPathComponent("b-\(UUID())")]
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        for file in files {
            try line.replacing("room", with: file.lastPathComponent.prefix(1)).write(
                to: file, atomically: true, encoding: .utf8)
        }
        let sequence = ArchiveSequence(files.map { ($0.path, IRCArchive(path: $0.path, now: today)) })
        var places: [String] = []
        var share = 0.0
        let report = try sequence.read {
            places.append($0.place.description)
            #expect($0.share >= share)
            share = $0.share
        }
        #expect(places.count == 12 && places[6] == "\(files[1].path), line 1")
        #expect(report.rows == 8 && report.outcomes == [ArchiveReport.Outcome.message: 8])
    }
}
