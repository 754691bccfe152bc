import Reactor
import Wire

/// The requests of this process that wait for a response. It decides which to publish again and which have timed out.
///
/// A slab: a request's number holds its index and the generation of that index. A late response carries an outdated
/// generation and finds nothing.
struct RequestTable<Payload> {
    /// The most requests in flight. Further ones are refused at once, as overload.
    static var capacity: Int { 65_536 }
    /// The bytes kept for repetitions at which the table is full, too. A request that starts below the limit is always
    /// kept whole.
    static var bytesLimit: Int { 128 << 20 }
    /// The default wait before the first repetition. Each further wait is twice as long …
    static var firstWait: Duration { .milliseconds(100) }
    /// … up to this limit, so that the successor of a dead process soon receives the request.
    static var longestWait: Duration { .seconds(1) }

    enum Action {
        case publishAgain(RequestNumber, Payload)
        case timedOut(Payload)
    }

    private struct Pending {
        var payload: Payload
        var deadline: MonotonicTime
        var wait: Duration
        /// What the wheel has besides for an earlier or a later time is of before `repeatSoon`.
        var due: MonotonicTime
    }

    /// Of many requests that are repeated soon each tick publishes its part.
    private static var repeatedInTick: Int { 1_024 }

    /// By index. Kept apart from `entries` because most lookups end here: reading a field of a structure with
    /// references copies all of it and counts each reference.
    private var generations: [UInt32] = []
    private var entries: [Pending?] = []
    private var free: [UInt32] = []
    private var wheel: TimerWheel
    private(set) var count = 0
    /// Bytes kept by the payloads.
    private(set) var bytes = 0
    private let size: (Payload) -> Int

    /// - Parameter size: returns the number of bytes that a payload keeps.
    init(now: MonotonicTime, size: @escaping (Payload) -> Int = { _ in 0 }) {
        wheel = TimerWheel(now: now)
        self.size = size
    }

    var isFull: Bool { count == Self.capacity || bytes >= Self.bytesLimit }

    /// Adds a request that is being published for the first time. The table must not be full.
    mutating func start(
        _ payload: (RequestNumber) -> Payload, firstWait: Duration = Self.firstWait, deadline: Duration,
        now: MonotonicTime
    ) -> RequestNumber {
        precondition(!isFull, "start needs a table that is not full")
        let index = takeIndex()
        let number = number(at: index)
        let deadline = now + deadline
        let due = min(now + firstWait, deadline)
        let pending = Pending(payload: payload(number), deadline: deadline, wait: firstWait, due: due)
        wheel.insert(number, at: due)
        bytes += size(pending.payload)
        entries[index] = pending
        count += 1
        return number
    }

    /// Removes and returns the request that a response belongs to; nil when the response is late or from an unexpected
    /// sender.
    mutating func complete(_ number: RequestNumber, where isExpected: (Payload) -> Bool = { _ in true }) -> Payload? {
        guard let index = index(of: number), let pending = entries[index].take() else { return nil }
        guard isExpected(pending.payload) else {
            entries[index] = pending
            return nil
        }
        release(index, pending.payload)
        return pending.payload
    }

    /// Returns the actions that are due at `now`.
    ///
    /// - Parameter isWaiting: returns whether a request that has waited so long for its repetition waits on, because it is
    ///   not lost. It is asked again after the first wait.
    mutating func advance(
        to now: MonotonicTime, isWaiting: (Payload, Duration) -> Bool = { _, _ in false }
    ) -> [Action] {
        wheel.advance(to: now).compactMap { recheck($0, now, isWaiting) }
    }

    /// Makes requests due within the next ticks, and their waits begin again: whoever can respond has just come.
    mutating func repeatSoon(at now: MonotonicTime, where isServed: (Payload) -> Bool) {
        var repeated = 0
        for index in entries.indices {
            guard let pending = entries[index], isServed(pending.payload) else { continue }
            let due = now + TimerWheel.tick * (repeated / Self.repeatedInTick)
            repeated += 1
            guard due < pending.due else { continue }
            entries[index]?.due = due
            entries[index]?.wait = Self.firstWait / 2
            wheel.insert(number(at: index), at: due)
        }
    }

    private mutating func recheck(
        _ number: RequestNumber, _ now: MonotonicTime, _ isWaiting: (Payload, Duration) -> Bool
    ) -> Action? {
        guard let index = index(of: number), var pending = entries[index].take() else { return nil }
        if pending.deadline <= now {
            release(index, pending.payload)
            return .timedOut(pending.payload)
        }
        guard pending.due <= now else {
            entries[index] = pending
            return nil
        }
        let isWaiting = isWaiting(pending.payload, pending.wait)
        if !isWaiting { pending.wait = min(pending.wait * 2, Self.longestWait) }
        pending.due = min(now + (isWaiting ? Self.firstWait : pending.wait), pending.deadline)
        wheel.insert(number, at: pending.due)
        entries[index] = pending
        return isWaiting ? nil : .publishAgain(number, pending.payload)
    }

    private func number(at index: Int) -> RequestNumber {
        RequestNumber(UInt64(generations[index]) << 32 | UInt64(index))
    }

    private mutating func takeIndex() -> Int {
        if let index = free.popLast() { return Int(index) }
        entries.append(nil)
        generations.append(0)
        return entries.count - 1
    }

    private func index(of number: RequestNumber) -> Int? {
        let index = Int(number.rawValue & 0xFFFF_FFFF)
        guard index < generations.count, UInt64(generations[index]) == number.rawValue >> 32 else { return nil }
        return index
    }

    /// Frees an index whose request was removed.
    private mutating func release(_ index: Int, _ payload: Payload) {
        bytes -= size(payload)
        generations[index] &+= 1
        free.append(UInt32(index))
        count -= 1
    }
}
