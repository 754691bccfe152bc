/// The keys that verify tokens, each with an optional name that tokens refer to (`kid`).
public struct TokenKeySet: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        let name: String?
        let key: TokenKey
    }

    /// More than any issuer has at a time; a reload compares all of them at once.
    static let maximumCount = 64

    let entries: [Entry]

    /// A set of one key without a name, for any token of its algorithm.
    public init(_ key: TokenKey) { entries = [Entry(name: nil, key: key)] }

    init(_ entries: [Entry]) { self.entries = entries }

    /// The key for a token with this header. A token that names a known key is verified with that key. A token without
    /// a name is verified with the only key of its algorithm, and a token with an unknown name with the only unnamed
    /// key of its algorithm. If there are several, none is tried.
    func entry(algorithm: String, name: String?) -> Entry? {
        if let name, let named = entries.first(where: { $0.name == name }) { return named }
        let candidates = entries.filter { $0.key.algorithmName == algorithm && (name == nil || $0.name == nil) }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// The only key, if it is unnamed, so that the token's header need not be read to choose.
    var onlyUnnamed: Entry? { entries.count == 1 && entries[0].name == nil ? entries[0] : nil }
}
