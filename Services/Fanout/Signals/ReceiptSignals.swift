import Models
import Wire

/// What users have received and read, merged until `receipt` has it: per user and conversation at most one signal is on
/// its way and one waits.
struct ReceiptSignals {
    /// Users and conversations with a signal that waits or is on its way. What comes beyond is dropped: the client says
    /// it again with its next signal.
    static let capacity = 65_536

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
    private var ready: [Key] = []
    /// Those that failed, until `resume`.
    private var paused: [Key] = []

    var count: Int { waiting.count + underWay.count }

    /// Takes in a signal; false when there is no room for it.
    mutating func add(_ key: Key, delivered: Int64 = 0, read: Int64 = 0) -> Bool {
        guard waiting[key] != nil || count < Self.capacity else { return false }
        if waiting[key] == nil, !underWay.contains(key) { ready.append(key) }
        waiting[key, default: Horizons()].merge(delivered: delivered, read: read)
        return true
    }

    /// Takes out what can be sent now. Each must come back by `finished` or `failed`.
    mutating func takeReady() -> [ReceiptSignal] {
        defer { ready.removeAll(keepingCapacity: true) }
        return ready.compactMap { key in
            guard let horizons = waiting.removeValue(forKey: key) else { return nil }
            underWay.insert(key)
            return ReceiptSignal(
                key.conversation, user: key.user, delivered: horizons.delivered, read: horizons.read)
        }
    }

    /// `receipt` has it. Returns whether more of that user and conversation waits.
    mutating func finished(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        underWay.remove(key)
        guard waiting[key] != nil else { return false }
        ready.append(key)
        return true
    }

    /// `receipt` may not have it: to be sent again, merged with what came since, after `resume`. Returns whether it is the
    /// first one that waits for that.
    mutating func failed(_ signal: ReceiptSignal) -> Bool {
        let key = Key(conversation: signal.conversation, user: signal.user)
        underWay.remove(key)
        paused.append(key)
        waiting[key, default: Horizons()].merge(delivered: signal.delivered, read: signal.read)
        return paused.count == 1
    }

    /// The pause after a failure is over.
    mutating func resume() {
        ready += paused
        paused = []
    }
}
