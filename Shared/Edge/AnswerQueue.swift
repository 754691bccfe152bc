/// Puts the answers of one connection in the order of their requests (RFC 9112, 9.3.2), whatever order they come in.
struct AnswerQueue {
    private struct Entry {
        var traits: AnswerTraits
        var early: [UInt8]?
    }

    /// The outstanding answers, oldest first, from `start` on.
    private var entries: [Entry] = []
    private var start = 0
    private var firstTicket: UInt32 = 0

    /// Bytes of answers that came before those of earlier requests.
    private(set) var earlyBytes = 0

    var outstanding: Int { entries.count - start }

    /// Takes a place in the order.
    mutating func open(_ traits: AnswerTraits) -> UInt32 {
        entries.append(Entry(traits: traits, early: nil))
        return firstTicket &+ UInt32(outstanding - 1)
    }

    /// Whether an answer with this ticket can leave at once.
    func isNext(_ ticket: UInt32) -> Bool { outstanding > 0 && ticket == firstTicket }

    /// What is known of an outstanding, unanswered ticket; nil for any other.
    func traits(of ticket: UInt32) -> AnswerTraits? {
        let position = Int(ticket &- firstTicket)
        guard position < outstanding, entries[start + position].early == nil else { return nil }
        return entries[start + position].traits
    }

    /// Keeps an answer that came before those of earlier requests.
    mutating func hold(_ bytes: [UInt8], for ticket: UInt32) {
        entries[start + Int(ticket &- firstTicket)].early = bytes
        earlyBytes += bytes.count
    }

    /// Forgets the oldest ticket, whose answer has left.
    mutating func removeNext() {
        start += 1
        firstTicket &+= 1
        // The places of what has left are given back now and then, also when the queue is never empty.
        guard start == entries.count || start >= 64 else { return }
        entries.removeFirst(start)
        start = 0
    }

    /// Takes out the oldest answer if it has come already.
    mutating func popEarly() -> [UInt8]? {
        guard outstanding > 0, let bytes = entries[start].early else { return nil }
        earlyBytes -= bytes.count
        removeNext()
        return bytes
    }

    /// Makes the youngest outstanding answer the last of the connection.
    mutating func closeAfterLast() {
        guard outstanding > 0 else { return }
        entries[entries.count - 1].traits.closes = true
        entries[entries.count - 1].traits.saysKeepAlive = false
    }
}
