import Foundation
import Models
import TestSupport
import Testing

@Suite struct TimestampTests {
    @Test(
        "a date-time is read as RFC 3339 defines it",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T00:00:00.000Z", 951_782_400_000),
            ("1985-04-12T23:20:50.52Z", 482_196_050_520), ("1996-12-19T16:39:57-08:00", 851_042_397_000),
            ("1990-12-31T23:59:60Z", 662_688_000_000), ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999),
            ("2026-11-21t10:47:00.1239z", 1_795_258_020_123), ("2026-11-21T00:00:00-00:00", 1_795_219_200_000),
        ] as [(String, Int64)])
    func parses(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        "any other text is refused",
        arguments: [
            "", "2026-11-21", "2026-11-21T10:47Z", "2026-11-21 10:47:00Z", "2026-11-21T10:47:00",
            "2026-11-21T10:47:00.Z",
            "2026-11-21T10:47:00+1", "2026-11-21T10:47:00+0100", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z",
            "2026-11-21T10:47:61Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-21T10:47:00Zx",
            "+2026-11-21T10:47:00Z", "2026-11-21T10:47:00+24:00", "2026-11-21T10:47:00,5Z", "２026-11-21T10:47:00Z",
        ])
    func refuses(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("every day of the calendar is written as Foundation writes it and read back", arguments: UInt64(0)..<50)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<40 {
            // Foundation uses the Julian calendar before 1582.
            let timestamp = Timestamp(
                milliseconds: .random(in: -12_000_000_000_000..<253_402_300_800_000, using: &random))
            let written = timestamp.description
            #expect(Timestamp(rfc3339: written) == timestamp)
            let date = try Date(written, strategy: style)
            #expect(Int64((date.timeIntervalSince1970 * 1000).rounded()) == timestamp.milliseconds, "\(written)")
        }
    }

    @Test("a time outside the years 0000 to 9999 is written as the nearest one inside")
    func clamped() {
        #expect(Timestamp(milliseconds: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: .min).description == "0000-01-01T00:00:00.000Z")
    }
}
