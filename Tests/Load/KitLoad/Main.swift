import Foundation
import Models

/// What a copy costs, each figure beside its floor: the same done with SQLite alone, in the same run.
///
///     KitLoad [apply] [windows] [send] [receipts] [idle]
@main
enum KitLoad {
    static func main() async throws {
        let named = Set(CommandLine.arguments.dropFirst())
        func isWanted(_ name: String) -> Bool { named.isEmpty || named.contains(name) }
        if isWanted("apply") { try await Applying.measure() }
        if isWanted("windows") { try await Windows.measure() }
        if isWanted("send") { try await Sending.measure() }
        if isWanted("receipts") { try await Receipts.measure() }
        if isWanted("idle") { try await Idling.measure() }
    }

    static func print(_ name: String, _ value: String) {
        Swift.print(name.padding(toLength: 64, withPad: " ", startingAt: 0) + value)
    }
}

/// A folder that is removed at the end.
final class Folder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("kit-load-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// Figures of this process.
enum Usage {
    /// Begins to measure the peak anew.
    static func resetPeak() { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }

    static var peakMegabytes: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }

    static var cpuMilliseconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func milliseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1000 + Double(time.tv_usec) / 1000 }
        return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
    var microseconds: Double { self / .microseconds(1) }
}

/// The middle of the times that `body` takes.
func median(_ count: Int, _ body: (Int) async throws -> Void) async rethrows -> Duration {
    let clock = ContinuousClock()
    var times: [Duration] = []
    for number in 0..<count {
        let began = clock.now
        try await body(number)
        times.append(clock.now - began)
    }
    return times.sorted()[count / 2]
}

let user = UserID("anna")!
let other = UserID("ben")!
let talk = ConversationID(UUIDBytes(high: 1, low: 1))
let text = "Sunday, nine? Then we are at the rock by eleven, before the sun is."

func messageId(_ number: Int) -> MessageID { MessageID(UUIDBytes(high: 2, low: UInt64(number))) }
