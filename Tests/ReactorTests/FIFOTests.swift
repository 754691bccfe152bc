import Reactor
import TestSupport
import Testing

@Suite struct FIFOTests {
    @Test(
        "elements come out in the order they went in, however appends and removals alternate", arguments: UInt64(0)..<20
    )
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = FIFO<Int>()
        var model: [Int] = []
        for number in 0..<500 {
            if Int.random(in: 0..<5, using: &random) < 3 {
                queue.append(number)
                model.append(number)
            } else {
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count && queue.first == model.first && Array(queue) == model)
        }
    }

    @Test("the queue does not keep removed elements alive")
    func release() {
        final class Large {}
        var queue = FIFO<Large>()
        for _ in 0..<8 { queue.append(Large()) }
        weak let first = queue.first
        _ = queue.popFirst()
        #expect(first == nil)
    }
}
