import Models
import Reactor
import Wire

/// How far users have read, until the store has it for their other devices. Positions gather for a while, so that those
/// of many users share a statement of the store. Each user's position in a conversation is reported at most once per
/// interval; positions that arrive meanwhile are merged.
///
/// Pure: time is a parameter.
struct UntoldReads {
    /// How long positions gather behind the first one that is to be reported. They are merged like all others, so that a
    /// user who reads on at once is reported once.
    static let gathering = Duration.milliseconds(250)
    /// With so many, a whole batch of the store, nothing is gained by gathering more.
    static let gatheringLimit = ReadPositions.limit
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
    /// Keys that are to be reported when `gatheringEnd` has come, each key once.
    private var gathered: [HorizonKey] = []
    private var gatheringEnd: MonotonicTime?
    /// Keys that may be reported, by the user's slot, each key once.
    private var ready: [Slot: [HorizonKey]] = [:]
    /// All rests have the same length at any time, so they end in the order in which they began.
    private var rests = FIFO<Rest>()

    var count: Int { readings.count }
    /// The time at which `advance` is due next.
    var nextEnd: MonotonicTime? {
        let restEnd = rests.first.map { $0.begin + interval }
        guard let gatheringEnd, let restEnd else { return gatheringEnd ?? restEnd }
        return min(gatheringEnd, restEnd)
    }
    /// Slots with something to report.
    var readySlots: [Slot] { Array(ready.keys) }

    /// Whether everything known of a conversation was reported.
    func isTold(_ conversation: ConversationID) -> Bool { keyCounts[conversation] == nil }

    /// Adds a position. Returns false if there is no room.
    mutating func add(_ key: HorizonKey, _ seq: Int64, at now: MonotonicTime) -> Bool {
        if readings[key] != nil {
            readings[key]!.wait(seq)
            return true
        }
        guard readings.count < Self.capacity else { return false }
        readings[key] = Reading(waiting: seq)
        keyCounts[key.conversation, default: 0] += 1
        gather(key, at: now)
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

    /// Ends what is over by now: rests, behind which keys with nothing left to report are forgotten and the others
    /// gather, and the gathering.
    mutating func advance(to now: MonotonicTime) {
        while let rest = rests.first, rest.begin + interval <= now {
            _ = rests.popFirst()
            if readings[rest.key]!.waiting == nil { forget(rest.key) } else { gather(rest.key, at: now) }
        }
        if let gatheringEnd, gatheringEnd <= now { endGathering() }
    }

    /// Makes ready what has gathered, before its time.
    mutating func endGathering() {
        for key in gathered { ready[key.user.slot, default: []].append(key) }
        gathered = []
        gatheringEnd = nil
    }

    private mutating func forget(_ key: HorizonKey) {
        readings[key] = nil
        let left = keyCounts[key.conversation]! - 1
        keyCounts[key.conversation] = left == 0 ? nil : left
    }

    private mutating func gather(_ key: HorizonKey, at now: MonotonicTime) {
        gathered.append(key)
        gatheringEnd = gathered.count < Self.gatheringLimit ? gatheringEnd ?? now + Self.gathering : now
    }
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
