import Reactor
import Wire

/// The requests of this process that wait for their answers: which to publish again, which to give up.
///
/// A slab, so that an answer finds its request by the place in its number, and a late one sees that the place has a
/// later generation.
struct RequestTable<Payload> {
    /// Requests in flight. Beyond it a request is refused at once, as overload.
    static var capacity: Int { 65_536 }
    /// Bytes kept to be published again: more than that, and it is full, too. What begins below it is taken whole.
    static var bytesLimit: Int { 128 << 20 }
    /// The first wait for an answer, where nothing else is said; each further one is twice as long …
    static var firstWait: Duration { .milliseconds(100) }
    /// … up to this: whoever takes over from a dead process should not have to wait for longer to be asked.
    static var longestWait: Duration { .seconds(1) }

    enum Action {
        case publishAgain(RequestNumber, Payload)
        case timedOut(Payload)
    }

    private struct Pending {
        var payload: Payload
        var deadline: MonotonicTime
        var wait: Duration
    }

    /// By place. Apart from what waits there, because most looks at a place end here: to read a field of a structure with
    /// references copies all of it, with a count for each.
    private var generations: [UInt32] = []
    private var places: [Pending?] = []
    private var free: [UInt32] = []
    private var wheel: TimerWheel
    private(set) var count = 0
    /// Kept by the payloads.
    private(set) var bytes = 0
    private let size: (Payload) -> Int

    /// - Parameter size: how many bytes a payload keeps.
    init(now: MonotonicTime, size: @escaping (Payload) -> Int = { _ in 0 }) {
        wheel = TimerWheel(now: now)
        self.size = size
    }

    var isFull: Bool { count == Self.capacity || bytes >= Self.bytesLimit }

    /// Takes a request in, which is being published for the first time. The table must not be full.
    mutating func start(
        _ payload: (RequestNumber) -> Payload, firstWait: Duration = Self.firstWait, deadline: Duration,
        now: MonotonicTime
    ) -> RequestNumber {
        precondition(!isFull, "the caller refuses requests when the table is full")
        let place = takePlace()
        let number = RequestNumber(UInt64(generations[place]) << 32 | UInt64(place))
        let pending = Pending(payload: payload(number), deadline: now + deadline, wait: firstWait)
        wheel.insert(number, at: min(now + pending.wait, pending.deadline))
        bytes += size(pending.payload)
        places[place] = pending
        count += 1
        return number
    }

    /// Takes out the request that an answer is for; nil when the answer is late, or is not the one waited for.
    mutating func answer(_ number: RequestNumber, where isExpected: (Payload) -> Bool = { _ in true }) -> Payload? {
        guard let place = place(of: number), let pending = places[place].take() else { return nil }
        guard isExpected(pending.payload) else {
            places[place] = pending
            return nil
        }
        release(place, pending.payload)
        return pending.payload
    }

    /// What has to be done by now.
    mutating func advance(to now: MonotonicTime) -> [Action] {
        wheel.advance(to: now).compactMap { lookAgain($0, now) }
    }

    private mutating func lookAgain(_ number: RequestNumber, _ now: MonotonicTime) -> Action? {
        guard let place = place(of: number), var pending = places[place].take() else { return nil }
        if pending.deadline <= now {
            release(place, pending.payload)
            return .timedOut(pending.payload)
        }
        pending.wait = min(pending.wait * 2, Self.longestWait)
        wheel.insert(number, at: min(now + pending.wait, pending.deadline))
        places[place] = pending
        return .publishAgain(number, pending.payload)
    }

    private mutating func takePlace() -> Int {
        if let place = free.popLast() { return Int(place) }
        places.append(nil)
        generations.append(0)
        return places.count - 1
    }

    private func place(of number: RequestNumber) -> Int? {
        let place = Int(number.rawValue & 0xFFFF_FFFF)
        guard place < generations.count, UInt64(generations[place]) == number.rawValue >> 32 else { return nil }
        return place
    }

    /// Gives back a place whose request was taken out.
    private mutating func release(_ place: Int, _ payload: Payload) {
        bytes -= size(payload)
        generations[place] &+= 1
        free.append(UInt32(place))
        count -= 1
    }
}
