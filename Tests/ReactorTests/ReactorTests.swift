import CLinux
import Glibc
import TestSupport
import Testing

@testable import Reactor

@Suite struct TimerHeapTests {
    init() { ReactorThread.start() }

    @Test("timers fire by time, equal times in insertion order, cancelled ones never")
    @Reactor func order() async {
        var heap = TimerHeap()
        var ran: [Int] = []
        let times: [UInt64] = [50, 10, 30, 10, 40, 20]
        let ids = times.enumerated().map { index, time in
            heap.insert(at: MonotonicTime(nanoseconds: time)) { ran.append(index) }
        }
        heap.cancel(ids[2])
        while let body = heap.popDue(at: MonotonicTime(nanoseconds: 45)) { body() }
        #expect(ran == [1, 3, 5, 4])
        #expect(heap.nextTime == MonotonicTime(nanoseconds: 50))
    }
}

@Suite struct ReactorTests {
    init() { ReactorThread.start() }

    final class Pipe: DescriptorHandler {
        var descriptors: (read: CInt, write: CInt)
        var received: [UInt8] = []
        let whenReceived: @Reactor ([UInt8]) -> Void

        @Reactor init(_ whenReceived: @escaping @Reactor ([UInt8]) -> Void) {
            var pair: [CInt] = [0, 0]
            precondition(pipe(&pair) == 0)
            descriptors = (pair[0], pair[1])
            self.whenReceived = whenReceived
            Reactor.watch(descriptors.read, for: .read, handler: self)
        }

        func ready(_: Readiness) {
            var byte: UInt8 = 0
            if read(descriptors.read, &byte, 1) == 1 { received.append(byte) }
            whenReceived(received)
        }
    }

    @Test("a handler is called on the reactor's thread when its descriptor is readable")
    @Reactor func descriptors() async {
        let bytes = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8], Never>) in
            var pipe: Pipe?
            pipe = Pipe { received in
                guard received.count == 2, let open = pipe else { return }
                Reactor.forget(open.descriptors.read)
                pipe = nil
                continuation.resume(returning: received)
            }
            write(pipe!.descriptors.write, [7, 8] as [UInt8], 2)
        }
        #expect(bytes == [7, 8])
    }

    @Test("code deferred to the end of the turn runs after the code that deferred it")
    @Reactor func endOfTurn() async {
        var order: [String] = []
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Reactor.after(.zero) {
                Reactor.atEndOfTurn {
                    order.append("end of turn")
                    continuation.resume()
                }
                order.append("turn")
            }
        }
        #expect(order == ["turn", "end of turn"])
    }

    @Test("a sleep on the reactor lasts at least as long as asked")
    @Reactor func sleep() async {
        let start = MonotonicTime.now
        await Reactor.sleep(for: .milliseconds(20))
        #expect(MonotonicTime.now - start >= .milliseconds(20))
    }

    @Test("jobs enqueued by other threads all run")
    func otherThreads() async {
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 1...1000 { group.addTask { await onReactor(number) } }
            return await group.reduce(0, +)
        }
        #expect(sum == 500_500)
    }

    @Test("a spawned task runs on the reactor and resumes there")
    func spawned() async {
        let isOnLoop = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            Reactor.spawn {
                await Reactor.sleep(for: .milliseconds(1))
                continuation.resume(returning: Reactor.loop.isCurrent)
            }
        }
        #expect(isOnLoop)
    }
}

@Reactor private func onReactor(_ number: Int) -> Int { number }
