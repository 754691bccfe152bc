import Bytes

/// The identities of recently verified tokens, by the tokens' bytes.
///
/// Bounded by two generations: when the younger is full, it replaces the older. A lookup moves an entry to the younger,
/// so tokens in use stay.
struct TokenCache {
    private struct Entry {
        let token: [UInt8]
        let identity: Identity

        func matches(_ other: UnsafeRawBufferPointer) -> Bool { token.withUnsafeBytes { $0.isEqual(to: other) } }
    }

    private let capacity: Int
    /// Keyed by a hash that is seeded per process, so clients cannot construct collisions. Of two colliding tokens the
    /// later is kept.
    private var younger: [Int: Entry] = [:]
    private var older: [Int: Entry] = [:]

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { younger.count + older.count }

    mutating func identity(for token: UnsafeRawBufferPointer) -> Identity? {
        let key = hash(token)
        if let entry = younger[key], entry.matches(token) { return entry.identity }
        guard let entry = older[key], entry.matches(token) else { return nil }
        older[key] = nil
        insert(entry, key)
        return entry.identity
    }

    mutating func insert(_ identity: Identity, for token: UnsafeRawBufferPointer) {
        insert(Entry(token: Array(token), identity: identity), hash(token))
    }

    private mutating func insert(_ entry: Entry, _ key: Int) {
        if younger.count >= capacity {
            older = younger
            younger = [:]
        }
        younger[key] = entry
    }

    private func hash(_ token: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: token)
        return hasher.finalize()
    }
}
