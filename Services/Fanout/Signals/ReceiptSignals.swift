import Models
import Reactor
import Wire

/// Delivered and read positions, merged until `receipt` has them. Each user and conversation has at most one signal in
/// flight and one waiting.
struct ReceiptSignals {
    /// The most signals that wait or are in flight. Beyond it none is added.
    static let capacity = 65_536
    /// The most signals of one user, so that no user can fill the table.
    static let share = capacity / 16

    /// The most signals in flight. Other requests share the bus's table, which has room for only `capacity`.
    static let inFlightLimit = capacity / 8

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
    private var inFlight: Set<Key> = []
    /// Waiting signals that can be sent at the end of the turn. The others wait for their predecessor in flight.
    private var ready = FIFO<Key>()
    /// Failed signals, until `resume`.
    private var paused: [Key] = []

    /// The number of signals in `waiting` and `inFlight`, by user.
    private var ofUser: [UserID: Int] = [:]

    var count: Int { waiting.count + inFlight.count }

    /// Returns whether there is room for a new signal of the user.
    func hasRoom(for user: UserID) -> Bool { count < Self.capacity && ofUser[user] ?? 0 < Self.share }

    /// Adds or merges a signal. Returns false when there is no room for it.
    mutating func add(_ key: Key, delivered: Int64 = 0, read: Int64 = 0) -> Bool {
        guard waiting[key] != nil || hasRoom(for: key.user) else { return false }
        if waiting[key] == nil {
            if !inFlight.contains(key) { ready.append(key) }
            ofUser[key.user, default: 0] += 1
        }
        waiting[key, default: Horizons()].merge(delivered: delivered, read: read)
        return true
    }

    /// Whether a signal can be sent now.
    var hasReady: Bool { !ready.isEmpty && inFlight.count < Self.inFlightLimit }

    /// Removes and returns the next signal to send. Call `finished` or `failed` for it afterwards.
    mutating func takeReady() -> ReceiptSignal? {
        while hasReady, let key = ready.popFirst() {
            guard let horizons = waiting.removeValue(forKey: key) else { continue }
            inFlight.insert(key)
            return ReceiptSignal(
                key.conversation, user: key.user, delivered: horizons.delivered, read: horizons.read)
        }
        return nil
    }

    /// Ends a signal that `receipt` has. Returns whether another one of its user and conversation waits.
    @discardableResult
    mutating func finished(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        inFlight.remove(key)
        discount(key.user)
        guard waiting[key] != nil else { return false }
        ready.append(key)
        return true
    }

    private mutating func discount(_ user: UserID) {
        guard let count = ofUser[user] else { return }
        ofUser[user] = count > 1 ? count - 1 : nil
    }

    /// Ends a signal that `receipt` may not have. It is sent again after `resume`, merged with later ones. Returns
    /// whether it is the first one that waits for `resume`.
    mutating func failed(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        inFlight.remove(key)
        paused.append(key)
        if waiting[key] != nil { discount(key.user) }
        waiting[key, default: Horizons()].merge(delivered: signal.delivered, read: signal.read)
        return paused.count == 1
    }

    /// Releases the failed signals after the pause.
    mutating func resume() {
        for key in paused { ready.append(key) }
        paused = []
    }
}
