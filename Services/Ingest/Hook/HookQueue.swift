import Models
import Reactor

/// Whose messages the application is asked about next. Each user has a line of their own, so none waits for another's messages:
///
/// - A user has one turn at a time, from the question until their messages are stored. What they send meanwhile waits, in its
///   order, and goes into the next question together.
/// - Users take turns in the order in which they became ready, as many at a time as `requests`. One who finds no place within
///   the time that an answer may take is not asked about: that is a failure, as if the application had not answered.
/// - What waits is bounded, in all and for each user, and beyond that it is refused. It is never stored without a question
///   because there is much of it, or whoever sends much would not be asked about.
struct HookQueue {
    struct Limits: Sendable {
        /// Questions at a time.
        var requests = 64
        /// A question has no more, unless a single request of a client has.
        var messagesPerRequest = 100
        var bytesPerRequest = 256 << 10
        /// Of all users, and of one.
        var waiting: Bound
        var waitingOfUser: Bound
        /// From when a user is ready to the answer.
        var timeout: Duration
    }

    struct Bound: Equatable, Sendable {
        var messages: Int
        var bytes: Int

        static let none = Bound(messages: 0, bytes: 0)
    }

    enum Admission: Equatable {
        case waits
        case full
        case fullOfUser
    }

    /// A user's messages, to be asked about or to fail.
    struct Turn: Equatable {
        let user: UserID
        let entries: [UInt64]
        let fate: Fate
    }

    enum Fate: Equatable {
        case ask(until: MonotonicTime)
        case fail(HookFailure)
    }

    private struct Entry {
        let number: UInt64
        let size: Bound
    }

    private struct Line {
        var entries = FIFO<Entry>()
        var size = Bound.none
        var hasTurn = false
    }

    let limits: Limits
    private var lines: [UserID: Line] = [:]
    /// Those who have messages and no turn, and since when.
    private var ready = FIFO<(user: UserID, since: MonotonicTime)>()
    private(set) var waiting = Bound.none
    /// Questions without an answer.
    private(set) var asking = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Puts messages at the end of a user's line.
    mutating func enter(_ number: UInt64, of user: UserID, messages: Int, bytes: Int, at now: MonotonicTime)
        -> Admission
    {
        let size = Bound(messages: messages, bytes: bytes)
        let before = lines[user]?.size ?? .none
        // Whoever waits for nothing may send anything.
        guard before == .none || (before + size).fits(limits.waitingOfUser) else { return .fullOfUser }
        guard waiting == .none || (waiting + size).fits(limits.waiting) else { return .full }
        if before == .none, lines[user] == nil { ready.append((user, now)) }
        lines[user, default: Line()].entries.append(Entry(number: number, size: size))
        lines[user]?.size += size
        waiting += size
        return .waits
    }

    /// The next user's turn, which has to be ended. Nil: nobody is ready, or all places are taken.
    mutating func next(_ breaker: inout HookBreaker, at now: MonotonicTime) -> Turn? {
        guard let first = ready.first else { return nil }
        let end = first.since + limits.timeout
        let fate: Fate
        if now >= end {
            fate = .fail(.noPlace)
        } else if breaker.isClosed(at: now) {
            guard asking < limits.requests else { return nil }
            fate = breaker.admits(at: now) ? .ask(until: end) : .fail(.away)
        } else {
            fate = .fail(.away)
        }
        if case .ask = fate { asking += 1 }
        _ = ready.popFirst()
        return Turn(user: first.user, entries: take(from: first.user), fate: fate)
    }

    /// When the first who is ready has waited too long.
    var nextEnd: MonotonicTime? { ready.first.map { $0.since + limits.timeout } }

    /// A question was answered, or will not be any more.
    mutating func answered() {
        asking -= 1
        precondition(asking >= 0, "what is answered was asked")
    }

    /// A user's turn is over: all of its messages are stored or refused.
    mutating func ended(_ user: UserID, at now: MonotonicTime) {
        guard let line = lines[user], line.hasTurn else { preconditionFailure("the user has a turn") }
        guard !line.entries.isEmpty else { return lines[user] = nil }
        lines[user]?.hasTurn = false
        ready.append((user, now))
    }

    private mutating func take(from user: UserID) -> [UInt64] {
        guard var line = lines.removeValue(forKey: user) else { preconditionFailure("who is ready has a line") }
        line.hasTurn = true
        var taken: [UInt64] = []
        var size = Bound.none
        let most = Bound(messages: limits.messagesPerRequest, bytes: limits.bytesPerRequest)
        while let entry = line.entries.first, taken.isEmpty || (size + entry.size).fits(most) {
            _ = line.entries.popFirst()
            taken.append(entry.number)
            size += entry.size
        }
        line.size -= size
        waiting -= size
        lines[user] = line
        return taken
    }
}

extension HookQueue.Limits {
    /// Half of what may be in flight at a time, so that what waits here leaves room for everything else; of one user an eighth of
    /// that, and a batch in any case.
    init(_ hook: HookConfiguration, _ configuration: IngestConfiguration) {
        let (load, client) = (configuration.load, configuration.limits)
        waiting = HookQueue.Bound(messages: max(1, load.requests / 2), bytes: load.bytes / 2)
        waitingOfUser = HookQueue.Bound(
            messages: max(client.batchMessages, waiting.messages / 8), bytes: max(client.batchBytes, waiting.bytes / 8))
        timeout = hook.timeout
    }
}

extension HookQueue.Bound {
    fileprivate static func + (left: Self, right: Self) -> Self {
        Self(messages: left.messages + right.messages, bytes: left.bytes + right.bytes)
    }

    fileprivate static func += (left: inout Self, right: Self) { left = left + right }

    fileprivate static func -= (left: inout Self, right: Self) {
        left = Self(messages: left.messages - right.messages, bytes: left.bytes - right.bytes)
        precondition(left.messages >= 0 && left.bytes >= 0, "what is taken was waiting")
    }

    fileprivate func fits(_ bound: Self) -> Bool { messages <= bound.messages && bytes <= bound.bytes }
}

/// Why there is no answer of the application.
enum HookFailure: String, CaseIterable, Sendable {
    /// None in time.
    case timeout
    /// No connection, or it ended.
    case unreachable
    /// Another status than 200 and 204, which redirections have, too.
    case status
    /// An answer that is too large or cannot be understood.
    case answer
    /// Too many other questions were without an answer.
    case noPlace
    /// It failed a moment ago, again and again: it was not asked.
    case away
}

/// Stops asking an application that does not answer, so that not every message waits for it in vain.
///
/// It opens after some failures in a row over some time without any answer. A few users whose messages the application fails on
/// do not open it where others' are answered meanwhile. Open, it lets a question through every few seconds.
struct HookBreaker {
    static let failures = 5
    static let silence = Duration.seconds(1)
    static let rest = Duration.seconds(5)

    private var failuresInRow = 0
    private var firstFailure: MonotonicTime?
    /// When it opened, or the last question that was let through failed.
    private var opened: MonotonicTime?
    private var isTrying = false

    var isOpen: Bool { opened != nil }

    /// Whether the application may be asked at all at this time.
    func isClosed(at now: MonotonicTime) -> Bool {
        guard let opened else { return true }
        return !isTrying && now - opened >= Self.rest
    }

    /// Whether to ask now. Open, it admits one.
    mutating func admits(at now: MonotonicTime) -> Bool {
        guard isClosed(at: now) else { return false }
        isTrying = isOpen
        return true
    }

    mutating func succeeded() { self = HookBreaker() }

    mutating func failed(at now: MonotonicTime) {
        failuresInRow += 1
        let first = firstFailure ?? now
        firstFailure = first
        if isOpen || failuresInRow >= Self.failures && now - first >= Self.silence {
            opened = now
            isTrying = false
        }
    }
}
