import Foundation
import Models

extension LocalTimes {
    /// A moment to come, as people write it: `+90m`, `+2h`, `+3d`, `18:30` (of today, or of tomorrow when it is over),
    /// `tomorrow 9:00`, `2026-11-29 9:00`.
    ///
    /// - Returns: nil: it is no time, or it is over.
    public func moment(written text: String, now: Timestamp) -> Timestamp? {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace)
        let date: Date? =
            switch words.count {
            case 1 where words[0].hasPrefix("+"): later(words[0].dropFirst(), now)
            case 1: next(words[0], now)
            case 2 where words[0] == "tomorrow": time(words[1], days: 1, now)
            case 2: time(words[1], of: words[0])
            default: nil
            }
        guard let date, date > now.date else { return nil }
        return Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    private func later(_ text: Substring, _ now: Timestamp) -> Date? {
        let units: [Character: Double] = ["m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()), 1...100_000 ~= count else {
            return nil
        }
        return now.date.addingTimeInterval(Double(count) * unit)
    }

    private func next(_ text: Substring, _ now: Timestamp) -> Date? {
        guard let today = time(text, days: 0, now) else { return nil }
        return today > now.date ? today : time(text, days: 1, now)
    }

    private func time(_ text: Substring, days: Int, _ now: Timestamp) -> Date? {
        guard let day = calendar.date(byAdding: .day, value: days, to: now.date) else { return nil }
        return time(text, of: calendar.dateComponents([.year, .month, .day], from: day))
    }

    private func time(_ text: Substring, of day: Substring) -> Date? {
        let parts = day.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 3, let year = parts[0], let month = parts[1], let number = parts[2], 2000...9999 ~= year,
            1...12 ~= month, 1...31 ~= number
        else { return nil }
        return time(text, of: DateComponents(year: year, month: month, day: number))
    }

    private func time(_ text: Substring, of day: DateComponents) -> Date? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], 0...23 ~= hour, 0...59 ~= minute else {
            return nil
        }
        var day = day
        (day.hour, day.minute) = (hour, minute)
        guard let date = calendar.date(from: day) else { return nil }
        // The 31st of February is no day.
        let found = calendar.dateComponents([.month, .day], from: date)
        return found.month == day.month && found.day == day.day ? date : nil
    }
}
