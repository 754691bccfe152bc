import Foundation
import Models

/// Times and days as one place shows them.
public struct LocalTimes: Sendable {
    let calendar: Calendar

    /// - Parameter timeZone: nil for the device's.
    public init(timeZone: TimeZone? = nil) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone ?? .current
        self.calendar = calendar
    }

    /// `09:05`
    public func time(_ moment: Timestamp) -> String {
        let parts = calendar.dateComponents([.hour, .minute], from: moment.date)
        return twoDigits(parts.hour) + ":" + twoDigits(parts.minute)
    }

    /// Equal for moments of one day.
    public func day(_ moment: Timestamp) -> Date { calendar.startOfDay(for: moment.date) }

    /// "Today", "Yesterday", the weekday of the last six days, "12 November", or "12 November 2025" of another year.
    public func dayName(_ moment: Timestamp, now: Timestamp) -> String {
        let parts = calendar.dateComponents([.year, .month, .day, .weekday], from: moment.date)
        let days = calendar.dateComponents([.day], from: day(moment), to: day(now)).day ?? 0
        switch days {
        case 0: return "Today"
        case 1: return "Yesterday"
        case 2...6: return Self.weekdays[(parts.weekday ?? 1) - 1]
        default:
            let date = "\(parts.day ?? 0) \(Self.months[(parts.month ?? 1) - 1])"
            let isThisYear = parts.year == calendar.component(.year, from: now.date)
            return isThisYear ? date : "\(date) \(parts.year ?? 0)"
        }
    }

    /// The time of today, else the day, for lists.
    public func brief(_ moment: Timestamp, now: Timestamp) -> String {
        day(moment) == day(now) ? time(moment) : dayName(moment, now: now)
    }

    /// Of a moment to come: `18:00` of today, else "12 November, 18:00", with the year if it is another one.
    public func coming(_ moment: Timestamp, now: Timestamp) -> String {
        guard day(moment) != day(now) else { return time(moment) }
        let parts = calendar.dateComponents([.year, .month, .day], from: moment.date)
        let date = "\(parts.day ?? 0) \(Self.months[(parts.month ?? 1) - 1])"
        let isThisYear = parts.year == calendar.component(.year, from: now.date)
        return (isThisYear ? date : "\(date) \(parts.year ?? 0)") + ", " + time(moment)
    }

    // In the language of the other texts, not in that of the device.
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
}

private func twoDigits(_ number: Int?) -> String {
    let number = number ?? 0
    return number < 10 ? "0\(number)" : "\(number)"
}

extension Timestamp {
    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
