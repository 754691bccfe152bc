/// Identifies a timer for `Reactor.cancel`. An identifier is never reused, so cancelling twice or too late does
/// nothing.
public struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// A binary heap of pending timers, the earliest first. A cancelled timer stays in the heap without its closure until
/// its time comes, because finding it would cost more.
struct TimerHeap {
    typealias Body = @Reactor () -> Void

    private var heap: [(time: MonotonicTime, id: TimerID)] = []
    private var bodies: [TimerID: Body] = [:]
    private var lastNumber: UInt64 = 0

    var nextTime: MonotonicTime? { heap.first?.time }

    mutating func insert(at time: MonotonicTime, _ body: @escaping Body) -> TimerID {
        lastNumber += 1
        let id = TimerID(number: lastNumber)
        bodies[id] = body
        heap.append((time, id))
        siftUp(from: heap.count - 1)
        return id
    }

    mutating func cancel(_ id: TimerID) { bodies[id] = nil }

    /// Removes and returns the earliest timer that is due and was not cancelled.
    mutating func popDue(at now: MonotonicTime) -> Body? {
        while let first = heap.first, first.time <= now {
            removeFirst()
            if let body = bodies.removeValue(forKey: first.id) { return body }
        }
        return nil
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown()
    }

    /// Timers with equal times keep the order of their insertion.
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].id.number) < (heap[right].time, heap[right].id.number)
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(child, smallest) {
                smallest = child
            }
            if smallest == parent { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
