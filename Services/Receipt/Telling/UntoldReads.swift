import Models
import Reactor

/// How far users have read, until the store has it for their other devices. Each user's position in a conversation is
/// reported at most once per interval, the first at once. Positions that arrive meanwhile are merged.
///
/// Pure: time is a parameter.
struct UntoldReads {
    /// The interval between two reports of one user in one conversation. A badge does not need more.
    static let shortestInterval = Duration.seconds(1)
    /// The interval while messages are being written, which have priority.
    static let intervalAmongMessages = Duration.seconds(5)
    /// The limit of keys that wait, are in flight or rest. Positions beyond it are found by `UntoldSearch`.
    static let capacity = 65_536

    fileprivate struct Reading {
        /// Not reported yet; nil: nothing.
        var waiting: Int64?
        /// In flight; nil: none.
        var underWay: Int64?
    }

    private struct Rest {
        let key: HorizonKey
        let begin: MonotonicTime
    }

    var interval = shortestInterval

    private var readings: [HorizonKey: Reading] = [:]
    /// The number of keys of each conversation in `readings`.
    private var keyCounts: [ConversationID: Int] = [:]
    /// Keys that may be reported, by the user's slot, each key once.
    private var ready: [Slot: [HorizonKey]] = [:]
    /// All rests have the same length at any time, so they end in the order in which they began.
    private var rests = FIFO<Rest>()

    var count: Int { readings.count }
    /// The time at which `endRests` is due next.
    var nextEnd: MonotonicTime? { rests.first.map { $0.begin + interval } }
    /// Slots with something to report.
    var readySlots: [Slot] { Array(ready.keys) }

    /// Whether everything known of a conversation was reported.
    func isTold(_ conversation: ConversationID) -> Bool { keyCounts[conversation] == nil }

    /// Adds a position. Returns false if there is no room.
    mutating func add(_ key: HorizonKey, _ seq: Int64) -> Bool {
        if readings[key] != nil {
            readings[key]!.wait(seq)
            return true
        }
        guard readings.count < Self.capacity else { return false }
        readings[key] = Reading(waiting: seq)
        keyCounts[key.conversation, default: 0] += 1
        makeReady(key)
        return true
    }

    /// Takes the positions to report for the users of a slot. Each key must come back by `rest`.
    mutating func takeReady(_ slot: Slot, limit: Int) -> [(key: HorizonKey, seq: Int64)] {
        guard let keys = ready.removeValue(forKey: slot) else { return [] }
        if keys.count > limit { ready[slot] = Array(keys[limit...]) }
        return keys.prefix(limit).map { key in (key, readings[key]!.begin()) }
    }

    /// Notes whether the positions taken were reported; if not, they wait again. Either way the key rests.
    mutating func rest(_ keys: some Sequence<HorizonKey>, isTold: Bool, at now: MonotonicTime) {
        for key in keys {
            readings[key]!.end(isTold: isTold)
            rests.append(Rest(key: key, begin: now))
        }
    }

    /// Forgets keys with nothing left to report, and makes the others ready.
    mutating func endRests(at now: MonotonicTime) {
        while let rest = rests.first, rest.begin + interval <= now {
            _ = rests.popFirst()
            if readings[rest.key]!.waiting == nil { forget(rest.key) } else { makeReady(rest.key) }
        }
    }

    private mutating func forget(_ key: HorizonKey) {
        readings[key] = nil
        let left = keyCounts[key.conversation]! - 1
        keyCounts[key.conversation] = left == 0 ? nil : left
    }

    private mutating func makeReady(_ key: HorizonKey) { ready[key.user.slot, default: []].append(key) }
}

extension UntoldReads.Reading {
    fileprivate mutating func wait(_ seq: Int64) { waiting = max(waiting ?? seq, seq) }

    /// Returns the position that is in flight from now on.
    fileprivate mutating func begin() -> Int64 {
        let seq = waiting!
        self = UntoldReads.Reading(underWay: seq)
        return seq
    }

    fileprivate mutating func end(isTold: Bool) {
        if !isTold, let underWay { wait(underWay) }
        underWay = nil
    }
}
