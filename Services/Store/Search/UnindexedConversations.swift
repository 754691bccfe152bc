import Models
import Reactor

/// The conversations with texts that may not be indexed yet, each with the time since when it waits.
struct UnindexedConversations {
    private struct Wait {
        let since: MonotonicTime
        var texts: Int
    }

    private let enough: Int
    private var waits: [ConversationID: Wait] = [:]
    /// In the order of their times. Some are gone or wait anew since.
    private var order = FIFO<(conversation: ConversationID, since: MonotonicTime)>()
    /// Those that have enough texts. Some are gone.
    private var full = FIFO<ConversationID>()

    /// - Parameter enough: the number of texts, about, with which a conversation does not wait for others.
    init(enough: Int) { self.enough = enough }

    var isEmpty: Bool { waits.isEmpty }
    var count: Int { waits.count }
    /// Whether a conversation has enough texts.
    var hasEnough: Bool { !full.isEmpty }
    /// The time since when the first one waits.
    var oldest: MonotonicTime? { order.first?.since }

    func contains(_ conversation: ConversationID) -> Bool { waits[conversation] != nil }

    mutating func add(_ conversation: ConversationID, since: MonotonicTime, texts: Int) {
        let before = waits[conversation]?.texts ?? 0
        if before == 0 { order.append((conversation, since)) }
        waits[conversation, default: Wait(since: since, texts: 0)].texts += texts
        if before < enough, before + texts >= enough { full.append(conversation) }
    }

    /// Takes conversations out: those with enough texts, then those that have waited longest.
    mutating func take(_ limit: Int) -> [ConversationID] {
        var taken: [ConversationID] = []
        while taken.count < limit, let next = full.popFirst() {
            if waits.removeValue(forKey: next) != nil { taken.append(next) }
        }
        while taken.count < limit, let next = order.popFirst() {
            if waits[next.conversation]?.since == next.since {
                waits[next.conversation] = nil
                taken.append(next.conversation)
            }
        }
        removeGone()
        return taken
    }

    /// Makes the first one in order one that waits.
    private mutating func removeGone() {
        while let next = order.first, waits[next.conversation]?.since != next.since { _ = order.popFirst() }
    }
}
