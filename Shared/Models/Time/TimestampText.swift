/// The text form of a moment, `2026-11-21T10:47:00.123Z` (RFC 3339, 5.6).
extension Timestamp {
    /// The length of the written text.
    public static let textLength = 24

    /// Writes the 24 characters, without quotes. Times outside the years 0000 to 9999, which the format cannot represent,
    /// are clamped.
    public func writeText(to text: UnsafeMutablePointer<UInt8>) {
        let milliseconds = min(max(milliseconds, Self.first), Self.last)
        let day = milliseconds.dividedDown(by: Self.millisecondsPerDay)
        let date = CivilDate(daysSinceEpoch: day)
        let time = milliseconds - day * Self.millisecondsPerDay
        text.put(date.year / 100, at: 0)
        text.put(date.year % 100, at: 2)
        text[4] = UInt8(ascii: "-")
        text.put(date.month, at: 5)
        text[7] = UInt8(ascii: "-")
        text.put(date.day, at: 8)
        text[10] = UInt8(ascii: "T")
        text.put(time / 3_600_000, at: 11)
        text[13] = UInt8(ascii: ":")
        text.put(time / 60_000 % 60, at: 14)
        text[16] = UInt8(ascii: ":")
        text.put(time / 1000 % 60, at: 17)
        text[19] = UInt8(ascii: ".")
        text.put(time % 1000 / 10, at: 20)
        text[22] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: time % 10)
        text[23] = UInt8(ascii: "Z")
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { text in
            writeText(to: text.baseAddress!)
            return Self.textLength
        }
    }
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        self = try decoder.text("an RFC 3339 date and time") { Timestamp(rfc3339: $0) }
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(text: description) }
}

extension UnsafeMutablePointer<UInt8> {
    fileprivate func put(_ number: Int64, at position: Int) {
        self[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
        self[position + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
    }
}

extension Int64 {
    fileprivate func dividedDown(by divisor: Int64) -> Int64 {
        self % divisor < 0 ? self / divisor - 1 : self / divisor
    }
}

extension StaticString {
    fileprivate func contains(_ character: UInt8) -> Bool {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount).contains(character)
    }
}

extension Timestamp {
    fileprivate static let millisecondsPerDay: Int64 = 86_400_000
    fileprivate static let first = CivilDate(year: 0, month: 1, day: 1).daysSinceEpoch * millisecondsPerDay
    fileprivate static let last = CivilDate(year: 10_000, month: 1, day: 1).daysSinceEpoch * millisecondsPerDay - 1

    /// Parses a `date-time` of RFC 3339, 5.6, with any offset. Fractional digits beyond milliseconds are dropped. A
    /// leap second is read as the following second. Nil if malformed.
    public init?(rfc3339 text: UnsafeRawBufferPointer) {
        var fields = DateTimeFields(text)
        guard let date = fields.date(), fields.take("Tt"), let time = fields.timeOfDay(),
            let fraction = fields.fraction(), let offset = fields.offset(), fields.isAtEnd
        else { return nil }
        self.init(milliseconds: date.daysSinceEpoch * Self.millisecondsPerDay + time + fraction - offset)
    }

    public init?(rfc3339 text: String) {
        var text = text
        guard let parsed = text.withUTF8({ Self(rfc3339: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = parsed
    }
}

/// Reads the fields of a `date-time` in order; each is nil when malformed or out of range.
private struct DateTimeFields {
    private let text: UnsafeRawBufferPointer
    private var position = 0

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    mutating func date() -> CivilDate? {
        guard let century = number(0...99), let year = number(0...99), take("-"), let month = number(1...12),
            take("-"), let day = number(1...31)
        else { return nil }
        let date = CivilDate(year: century * 100 + year, month: month, day: day)
        return date.exists ? date : nil
    }

    /// The time of day in milliseconds.
    mutating func timeOfDay() -> Int64? {
        guard let minutes = hoursAndMinutes(), take(":"), let second = number(0...60) else { return nil }
        return (minutes * 60 + second) * 1000
    }

    /// The fraction of a second in milliseconds; zero when there is none.
    mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        var milliseconds: Int64 = 0
        var weight: Int64 = 100
        let first = position
        while let digit = digit() {
            milliseconds += digit * weight
            weight /= 10
        }
        return position == first ? nil : milliseconds
    }

    /// The offset of local time from UTC in milliseconds.
    mutating func offset() -> Int64? {
        if take("Zz") { return 0 }
        let isBehind = take("-")
        guard isBehind || take("+"), let minutes = hoursAndMinutes() else { return nil }
        return (isBehind ? -minutes : minutes) * 60_000
    }

    private mutating func hoursAndMinutes() -> Int64? {
        guard let hour = number(0...23), take(":"), let minute = number(0...59) else { return nil }
        return hour * 60 + minute
    }

    mutating func take(_ alternatives: StaticString) -> Bool {
        guard position < text.count, alternatives.contains(text[position]) else { return false }
        position += 1
        return true
    }

    /// Reads two digits.
    private mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
        guard let tens = digit(), let ones = digit(), range.contains(tens * 10 + ones) else { return nil }
        return tens * 10 + ones
    }

    private mutating func digit() -> Int64? {
        guard position < text.count else { return nil }
        let value = text[position] &- UInt8(ascii: "0")
        guard value < 10 else { return nil }
        position += 1
        return Int64(value)
    }
}
