/// The position of a session in one conversation. It decides how each arriving change is handled.
///
/// While a gap too large for the socket is paged over HTTP (`reload`), changes from the socket wait.
public struct StreamCursor: Equatable {
    public enum Decision: Equatable {
        /// The change is the next one.
        case deliver
        /// The change was delivered before. The server broke its promise, unless it came by a page.
        case repeated
        /// Changes between `after` and this one are missing. The server broke its promise.
        case gap(after: Int64)
        /// The change is to be offered again after `finishReload`.
        case hold
    }

    /// The `seq` of the last change delivered. Nil before the first, which may be any.
    public private(set) var seq: Int64?
    public private(set) var isReloading = false

    public init(after seq: Int64? = nil) { self.seq = seq }

    public mutating func offer(_ next: Int64) -> Decision {
        if isReloading { return .hold }
        guard let seq else {
            self.seq = next
            return .deliver
        }
        if next <= seq { return .repeated }
        self.seq = next
        return next == seq + 1 ? .deliver : .gap(after: seq)
    }

    /// Skips to the position where the user has joined (again). Changes between their stays are not visible to them.
    public mutating func advance(to lastSeq: Int64) { seq = max(seq ?? 0, lastSeq) }

    public mutating func beginReload() { isReloading = true }
    public mutating func finishReload() { isReloading = false }

    /// Offers a change from a page. It is delivered when new.
    public mutating func offerPaged(_ next: Int64) -> Decision {
        isReloading = false
        defer { isReloading = true }
        return offer(next)
    }
}
