import Models
import Reactor

/// How far users have read, until the store has it for their other devices: each position of a user in a conversation at
/// most once in an interval, the first at once. What is read meanwhile goes as one.
///
/// Pure: time is a parameter.
struct UntoldReads {
    /// Between two positions told of one user in one conversation. A badge does not need more.
    static let shortestInterval = Duration.seconds(1)
    /// While messages are being written, which go first.
    static let intervalAmongMessages = Duration.seconds(5)
    /// Users and conversations that wait, are being told, or rest. What comes beyond it is found by `UntoldSearch`.
    static let capacity = 65_536

    fileprivate struct Reading {
        /// Not told yet; nil: nothing.
        var waiting: Int64?
        /// Being told; nil: none.
        var underWay: Int64?
    }

    private struct Rest {
        let key: HorizonKey
        let begin: MonotonicTime
    }

    var interval = shortestInterval

    private var readings: [HorizonKey: Reading] = [:]
    /// How many keys of each conversation are in `readings`.
    private var keyCounts: [ConversationID: Int] = [:]
    /// What may be told, by the user's slot, where each key is once.
    private var ready: [Slot: [HorizonKey]] = [:]
    /// Of equal length at any time, so the order of their beginnings is that of their ends.
    private var rests = FIFO<Rest>()

    var count: Int { readings.count }
    /// When `endRests` has something to do next.
    var nextEnd: MonotonicTime? { rests.first.map { $0.begin + interval } }
    /// Slots with something to tell.
    var readySlots: [Slot] { Array(ready.keys) }

    /// Whether all that is known of a conversation was told.
    func isTold(_ conversation: ConversationID) -> Bool { keyCounts[conversation] == nil }

    /// False when there is no room.
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

    /// Takes out what is to be told of users of a slot. Each key must come back by `rest`.
    mutating func takeReady(_ slot: Slot, limit: Int) -> [(key: HorizonKey, seq: Int64)] {
        guard let keys = ready.removeValue(forKey: slot) else { return [] }
        if keys.count > limit { ready[slot] = Array(keys[limit...]) }
        return keys.prefix(limit).map { key in (key, readings[key]!.begin()) }
    }

    /// What was taken is told, or is not: then it waits again. Either way it rests.
    mutating func rest(_ keys: some Sequence<HorizonKey>, isTold: Bool, at now: MonotonicTime) {
        for key in keys {
            readings[key]!.end(isTold: isTold)
            rests.append(Rest(key: key, begin: now))
        }
    }

    /// Forgets those that were told everything, and makes the others ready.
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

    /// Returns what is told from now on.
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
