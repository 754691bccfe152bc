import Glibc
import JSON
import Testing

@testable import ServiceKit

@Suite struct LogTests {
    /// The lines that `body` logs.
    private func lines(level: Log.Level = .info, _ body: (Log) -> Void) -> [String] {
        var pipe: [CInt] = [0, 0]
        precondition(Glibc.pipe(&pipe) == 0)
        body(Log(service: "store", instance: 2, level: level, descriptor: pipe[1]))
        close(pipe[1])
        defer { close(pipe[0]) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(pipe[0], &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("a line is one JSON object with time, level, service, instance, event and fields")
    func line() throws {
        let lines = lines {
            $0.warning("commit failed", [LogField("state", "40P01\n"), LogField("rows", 3), LogField("again", true)])
        }
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.hasPrefix(#"{"time":"20"#))
        #expect(
            line.hasSuffix(
                #"Z","level":"warning","service":"store","instance":2,"event":"commit failed","state":"40P01\n","rows":3,"again":true}"#
            ))
    }

    @Test("lines below the level are not written")
    func levels() {
        let lines = lines(level: .warning) { log in
            log.debug("a")
            log.info("b")
            log.warning("c")
            log.error("d")
        }
        #expect(lines.count == 2)
        #expect(Log.Level(name: "debug") == .debug)
        #expect(Log.Level(name: "verbose") == nil)
    }

    @Test("the lines of a recurring event are limited per second, and the next line counts the suppressed ones")
    func repeats() {
        var limiter = RepeatLimiter(linesPerSecond: 2)
        let event: StaticString = "bus lost"
        #expect(limiter.admit(event, atSecond: 1) == .write(suppressed: 0))
        #expect(limiter.admit(event, atSecond: 1) == .write(suppressed: 0))
        #expect(limiter.admit(event, atSecond: 1) == .suppress)
        #expect(limiter.admit(event, atSecond: 1) == .suppress)
        #expect(limiter.admit("something else", atSecond: 1) == .write(suppressed: 0))
        #expect(limiter.admit(event, atSecond: 2) == .write(suppressed: 2))
        #expect(limiter.admit(event, atSecond: 2) == .write(suppressed: 0))
        #expect(limiter.admit(event, atSecond: 2) == .suppress)
    }
}
