import Foundation
import Models
import Testing

@testable import ParleyPresentation

@Suite struct WrittenTimeTests {
    /// The evening of a Friday in Berlin.
    private let now = Self.moment("2026-11-27T17:20:00Z")
    private let written = LocalTimes(timeZone: TimeZone(identifier: "Europe/Berlin")!)

    private static func moment(_ text: String) -> Timestamp {
        Timestamp(milliseconds: Int64(ISO8601DateFormatter().date(from: text)!.timeIntervalSince1970 * 1000))
    }

    @Test(
        "a time is read as people write it",
        arguments: [
            ("+90m", "2026-11-27T18:50:00Z"), ("+2h", "2026-11-27T19:20:00Z"),
            ("+3d", "2026-11-30T17:20:00Z"), ("18:30", "2026-11-27T17:30:00Z"),
            ("9:05", "2026-11-28T08:05:00Z"), (" Tomorrow  9:00 ", "2026-11-28T08:00:00Z"),
            ("2027-07-01 00:00", "2027-06-30T22:00:00Z"),
        ])
    func times(text: String, expected: String) {
        #expect(written.moment(written: text, now: now) == Self.moment(expected))
    }

    @Test(
        "what is no time, or is over, is none",
        arguments: [
            "", " ", "soon", "+", "+m", "+0m", "+-3h", "+9999999999d", "24:00", "9:60", "9", "9:", ":5", "tomorrow",
            "2026-02-31 9:00", "2026-13-01 9:00", "2026-11-26 9:00", "26-11-2 9:00", "2026-11-29 9:00 x",
        ])
    func noTimes(text: String) {
        #expect(written.moment(written: text, now: now) == nil)
    }
}
