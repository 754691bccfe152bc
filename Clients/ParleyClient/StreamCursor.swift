/// Where a session stands in one conversation: decides what is to become of each change that arrives.
///
/// While a gap too large for the socket is paged over HTTP (`reload`), what the socket brings waits.
public struct StreamCursor: Equatable {
    public enum Decision: Equatable {
        /// The change is the next one.
        case deliver
        /// It was delivered before: the server broke its promise, unless it came by a page.
        case repeated
        /// Changes between `after` and this one are missing: the server broke its promise.
        case gap(after: Int64)
        /// It is to be offered again after `finishReload`.
        case hold
    }

    /// The `seq` of the last change delivered; nil before the first, which may be any.
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

    /// The user has joined (again): what came between their stays is not theirs to see.
    public mutating func advance(to lastSeq: Int64) { seq = max(seq ?? 0, lastSeq) }

    public mutating func beginReload() { isReloading = true }
    public mutating func finishReload() { isReloading = false }

    /// A change that came by a page: delivered when it is new.
    public mutating func offerPaged(_ next: Int64) -> Decision {
        isReloading = false
        defer { isReloading = true }
        return offer(next)
    }
}
