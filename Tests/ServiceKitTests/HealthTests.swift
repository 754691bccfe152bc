import Bytes
import Reactor
import ServiceKit
import TestSupport
import Testing

@Suite struct HealthTests {
    init() { ReactorThread.start() }

    @Reactor private final class Connection { var isOpen = false }

    @Test("a process is ready while every condition holds, and reports those that do not")
    @Reactor func conditions() async {
        let connection = Connection()
        let health = Health()
        health.require("bus") { nil }
        health.require("database") { connection.isOpen ? nil : "not \"connected\"" }
        var buffer = ByteBuffer()
        var isReady = health.write(to: &buffer)
        #expect(!isReady)
        #expect(
            String(decoding: buffer.bytes, as: UTF8.self)
                == #"{"ready":false,"reasons":{"database":"not \"connected\""}}"#)
        connection.isOpen = true
        buffer.removeAll()
        isReady = health.write(to: &buffer)
        #expect(isReady)
        #expect(String(decoding: buffer.bytes, as: UTF8.self) == #"{"ready":true,"reasons":{}}"#)
    }
}

@Suite struct DrainTests {
    private let log = Log(service: "test", level: .error)

    init() { ReactorThread.start() }

    @Test("the steps run in their order, and the process ends after the last, once")
    @Reactor func order() async {
        var events: [String] = []
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let drain = Drain(limit: .seconds(60), log: log) {
                events.append("end")
                continuation.resume()
            }
            drain.add("slow") {
                await Reactor.sleep(for: .milliseconds(5))
                events.append("slow")
            }
            drain.add("quick") { events.append("quick") }
            drain.begin()
            drain.begin()
            #expect(drain.hasBegun)
        }
        #expect(events == ["slow", "quick", "end"])
    }

    @Test("a step that never ends does not keep the process alive")
    @Reactor func limit() async {
        var hasStepEnded = false
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let drain = Drain(limit: .milliseconds(20), log: log) { continuation.resume() }
            drain.add("hangs") {
                await Reactor.sleep(for: .seconds(600))
                hasStepEnded = true
            }
            drain.begin()
        }
        #expect(!hasStepEnded)
    }
}
