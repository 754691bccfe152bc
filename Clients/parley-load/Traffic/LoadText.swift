import Bytes
import Glibc
import Reactor

/// The text of a message of a run: the due time on this machine's monotonic clock in sixteen hexadecimal digits, then
/// words up to the requested length. A receiver computes the latency without a table of send times.
struct LoadText: Sendable {
    static let digits = 16

    /// The bytes after the digits. They need no escaping.
    let words: [UInt8]

    init(bytes: Int) {
        let pattern = Array(" sea and sky and a long way to go before we sleep".utf8)
        words = (0..<max(1, bytes - Self.digits)).map { pattern[$0 % pattern.count] }
    }

    var count: Int { Self.digits + words.count }

    static func write(_ time: MonotonicTime, to text: UnsafeMutablePointer<UInt8>) {
        var rest = time.nanoseconds
        for position in (0..<digits).reversed() {
            let digit = UInt8(truncatingIfNeeded: rest & 0xF)
            text[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
    }

    /// Returns nil when the text does not begin with sixteen digits.
    static func time(of text: UnsafeRawBufferPointer) -> MonotonicTime? {
        guard text.count >= digits else { return nil }
        var value: UInt64 = 0
        for position in 0..<digits {
            let character = text[position]
            let digit = character &- UInt8(ascii: "0")
            let letter = character &- UInt8(ascii: "a")
            guard digit < 10 || letter < 6 else { return nil }
            value = value << 4 | UInt64(digit < 10 ? digit : letter + 10)
        }
        return MonotonicTime(nanoseconds: value)
    }

    /// Whether this text was sent by a run.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count == count, Self.time(of: text) != nil else { return false }
        return words.withUnsafeBytes { text.part(Self.digits, text.count).isEqual(to: $0) }
    }
}
