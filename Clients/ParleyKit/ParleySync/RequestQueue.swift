import Models
import ParleyStorage

/// The calls of synchronisation: a few at a time, the same one never twice at once, repeated until they succeed.
struct RequestQueue: Sendable {
    private var waiting: [SyncCall] = []
    private var inFlight: [Int: SyncCall] = [:]
    private var lastId = 0
    private var pausedUntil: Duration?
    private var backoff = Backoff(first: .milliseconds(500), longest: .seconds(60))
    /// Nothing is asked before there is a fresh token.
    private(set) var awaitsToken = false

    /// The server bounds what one user has in flight.
    private static let atOnce = 4

    // MARK: Asking

    mutating func ask(_ call: SyncCall, first: Bool = false) {
        guard !waiting.contains(call), !inFlight.values.contains(call) else { return }
        if first { waiting.insert(call, at: 0) } else { waiting.append(call) }
    }

    func contains(where isMeant: (SyncCall) -> Bool) -> Bool {
        waiting.contains(where: isMeant) || inFlight.values.contains(where: isMeant)
    }

    mutating func next(at now: Duration) -> [(id: Int, call: SyncCall)] {
        guard !awaitsToken, pausedUntil.map({ $0 <= now }) ?? true else { return [] }
        // Else the time that has passed would be announced again and again.
        pausedUntil = nil
        var next: [(id: Int, call: SyncCall)] = []
        while inFlight.count < Self.atOnce, !waiting.isEmpty {
            lastId += 1
            inFlight[lastId] = waiting.removeFirst()
            next.append((lastId, inFlight[lastId]!))
        }
        return next
    }

    var wakeAt: Duration? { waiting.isEmpty ? nil : pausedUntil }

    /// Whether to ask for a token again, after it could not be had.
    mutating func takeTokenDue(at now: Duration) -> Bool {
        guard awaitsToken, let pausedUntil, pausedUntil <= now else { return false }
        self.pausedUntil = nil
        return true
    }

    var hasNothingToCatchUp: Bool {
        !(waiting + inFlight.values).contains { call in
            switch call {
            case .sync, .changes, .conversation: true
            default: false
            }
        }
    }

    // MARK: Responses

    /// Returns the call that is answered; nil if it does not matter any more.
    mutating func finish(_ id: Int) -> SyncCall? { inFlight.removeValue(forKey: id) }

    mutating func succeeded() {
        backoff.succeeded()
        // What was on its way says nothing of the token that is to be asked for again then.
        if !awaitsToken { pausedUntil = nil }
    }

    /// Repeats a call later.
    mutating func `repeat`(
        _ call: SyncCall, at now: Duration, atLeast asked: Duration?, using random: inout SeededGenerator
    ) {
        ask(call, first: true)
        pausedUntil = now + backoff.pause(atLeast: asked, using: &random)
    }

    mutating func awaitToken() { awaitsToken = true }

    mutating func pause(at now: Duration, using random: inout SeededGenerator) {
        pausedUntil = now + backoff.pause(using: &random)
    }

    mutating func tokenArrived() {
        awaitsToken = false
        pausedUntil = nil
    }

    // MARK: What does not matter any more

    /// Takes back what `isObsolete`: a response that comes later is ignored.
    mutating func cancel(_ isObsolete: (SyncCall) -> Bool) {
        waiting.removeAll(where: isObsolete)
        for (id, call) in inFlight where isObsolete(call) { inFlight[id] = nil }
    }

    /// What somebody looks at is asked for again: pages on their way were read before something that they do not show,
    /// such as a message being hidden.
    ///
    /// - Parameter conversation: only its pages.
    mutating func askAgainForHistory(of conversation: ConversationID? = nil) {
        askAgain { $0.isHistory && (conversation == nil || $0.conversation == conversation) }
    }

    /// The same for what tells up to where the user may have hidden messages without the copy knowing.
    mutating func askAgainForConversations(of conversation: ConversationID? = nil) {
        askAgain { call in
            guard case .conversation(let id) = call else { return false }
            return conversation == nil || id == conversation
        }
    }

    /// The same for the list of requests.
    mutating func askAgainForRequests() { askAgain { $0 == .requests } }

    private mutating func askAgain(_ isOutdated: (SyncCall) -> Bool) {
        for (id, call) in inFlight.sorted(by: { $0.key < $1.key }) where isOutdated(call) {
            inFlight[id] = nil
            ask(call)
        }
    }

    /// The copy is discarded.
    mutating func restart() {
        askAgainForHistory()
        cancel { !$0.isHistory }
    }
}

extension SyncCall {
    fileprivate var isHistory: Bool {
        if case .history = self { true } else { false }
    }
}
