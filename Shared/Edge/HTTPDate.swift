import Bytes
import Glibc

/// The Date field (RFC 9110, 6.6.1), formatted once per second, not per response.
public struct HTTPDate {
    private var second: time_t = 0
    private var line: [UInt8] = []

    init(second: time_t) { update(to: second) }

    mutating func update(to second: time_t) {
        guard second != self.second else { return }
        self.second = second
        line = Self.line(second)
    }

    func write(to buffer: inout ByteBuffer) { buffer.append(line) }

    /// A time as other fields have it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func text(second: Int) -> String {
        String(decoding: line(second).dropFirst("Date: ".utf8.count).dropLast(2), as: UTF8.self)
    }

    private static func line(_ second: time_t) -> [UInt8] {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            // The process runs in the C locale, so the names of days and months are English.
            let count = strftime(text.baseAddress!, text.count, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts)
            return text[..<count].map { UInt8(bitPattern: $0) }
        }
    }
}
