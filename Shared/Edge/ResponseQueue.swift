/// Sends the responses of one connection in the order of their requests (RFC 9112, 9.3.2), whatever order they are made
/// in.
struct ResponseQueue {
    private struct Entry {
        var traits: ResponseTraits
        var early: [UInt8]?
    }

    /// The outstanding responses, oldest first, from `start` on.
    private var entries: [Entry] = []
    private var start = 0
    private var firstTicket: UInt32 = 0

    /// Bytes of responses that are ready before those to earlier requests.
    private(set) var earlyBytes = 0

    var outstanding: Int { entries.count - start }

    /// Appends an outstanding response and returns its ticket.
    mutating func open(_ traits: ResponseTraits) -> UInt32 {
        entries.append(Entry(traits: traits, early: nil))
        return firstTicket &+ UInt32(outstanding - 1)
    }

    /// Whether the response with this ticket can be sent at once.
    func isNext(_ ticket: UInt32) -> Bool { outstanding > 0 && ticket == firstTicket }

    /// The traits of an outstanding response that is not ready; nil for any other ticket.
    func traits(of ticket: UInt32) -> ResponseTraits? {
        let position = Int(ticket &- firstTicket)
        guard position < outstanding, entries[start + position].early == nil else { return nil }
        return entries[start + position].traits
    }

    /// The traits of the oldest outstanding response.
    var nextTraits: ResponseTraits { entries[start].traits }

    /// Holds a response that is ready before those to earlier requests.
    mutating func hold(_ bytes: [UInt8], for ticket: UInt32) {
        entries[start + Int(ticket &- firstTicket)].early = bytes
        earlyBytes += bytes.count
    }

    /// Removes the oldest ticket, whose response was sent.
    mutating func removeNext() {
        start += 1
        firstTicket &+= 1
        // The memory of sent entries is reclaimed every 64 of them, even if the queue is never empty.
        guard start == entries.count || start >= 64 else { return }
        entries.removeFirst(start)
        start = 0
    }

    /// Removes and returns the oldest response if it is ready.
    mutating func popEarly() -> [UInt8]? {
        guard outstanding > 0, let bytes = entries[start].early else { return nil }
        earlyBytes -= bytes.count
        removeNext()
        return bytes
    }

    /// Makes the newest outstanding response the last of the connection.
    mutating func closeAfterLast() {
        guard outstanding > 0 else { return }
        entries[entries.count - 1].traits.closes = true
        entries[entries.count - 1].traits.saysKeepAlive = false
    }
}
