import Models
import Reactor
import Wire

/// What users have received and read, merged until `receipt` has it: per user and conversation at most one signal is on
/// its way and one waits.
struct ReceiptSignals {
    /// Users and conversations with a signal that waits or is on its way. Beyond it nothing is taken in.
    static let capacity = 65_536
    /// Of one user: nobody's receipts fill it all.
    static let share = capacity / 16

    /// On their way at once: others ask by the same bus, whose table of requests has no more room than all of these have.
    static let inFlight = capacity / 8

    struct Key: Hashable {
        var conversation: ConversationID
        var user: UserID
    }

    private struct Horizons {
        var delivered: Int64 = 0
        var read: Int64 = 0

        mutating func merge(delivered: Int64, read: Int64) {
            self.delivered = max(self.delivered, delivered)
            self.read = max(self.read, read)
        }
    }

    private var waiting: [Key: Horizons] = [:]
    private var underWay: Set<Key> = []
    /// Those that wait for nothing but the end of the turn. The others wait for the signal under way.
    private var ready = FIFO<Key>()
    /// Those that failed, until `resume`.
    private var paused: [Key] = []

    /// How many of `waiting` and `underWay` are each user's.
    private var ofUser: [UserID: Int] = [:]

    var count: Int { waiting.count + underWay.count }

    /// Whether a new signal of the user has room.
    func hasRoom(for user: UserID) -> Bool { count < Self.capacity && ofUser[user] ?? 0 < Self.share }

    /// Takes in a signal; false when there is no room for it.
    mutating func add(_ key: Key, delivered: Int64 = 0, read: Int64 = 0) -> Bool {
        guard waiting[key] != nil || hasRoom(for: key.user) else { return false }
        if waiting[key] == nil {
            if !underWay.contains(key) { ready.append(key) }
            ofUser[key.user, default: 0] += 1
        }
        waiting[key, default: Horizons()].merge(delivered: delivered, read: read)
        return true
    }

    /// Whether one can be sent now.
    var hasReady: Bool { !ready.isEmpty && underWay.count < Self.inFlight }

    /// Takes out the next one that can be sent now. It must come back by `finished` or `failed`.
    mutating func takeReady() -> ReceiptSignal? {
        while hasReady, let key = ready.popFirst() {
            guard let horizons = waiting.removeValue(forKey: key) else { continue }
            underWay.insert(key)
            return ReceiptSignal(
                key.conversation, user: key.user, delivered: horizons.delivered, read: horizons.read)
        }
        return nil
    }

    /// `receipt` has it. Returns whether more of that user and conversation waits.
    @discardableResult
    mutating func finished(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        underWay.remove(key)
        discount(key.user)
        guard waiting[key] != nil else { return false }
        ready.append(key)
        return true
    }

    private mutating func discount(_ user: UserID) {
        guard let count = ofUser[user] else { return }
        ofUser[user] = count > 1 ? count - 1 : nil
    }

    /// `receipt` may not have it: to be sent again, merged with what came since, after `resume`. Returns whether it is the
    /// first one that waits for that.
    mutating func failed(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        underWay.remove(key)
        paused.append(key)
        if waiting[key] != nil { discount(key.user) }
        waiting[key, default: Horizons()].merge(delivered: signal.delivered, read: signal.read)
        return paused.count == 1
    }

    /// The pause after a failure is over.
    mutating func resume() {
        for key in paused { ready.append(key) }
        paused = []
    }
}
