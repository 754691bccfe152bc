/// The keys that tokens are verified with, each with the name by which tokens ask for it (`kid`), or none.
public struct TokenKeySet: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        let name: String?
        let key: TokenKey
    }

    /// More than any issuer has at a time; each takes memory, and a reload looks at all of them at once.
    static let maximumCount = 64

    let entries: [Entry]

    /// One key without a name: for any token of its algorithm.
    public init(_ key: TokenKey) { entries = [Entry(name: nil, key: key)] }

    init(_ entries: [Entry]) { self.entries = entries }

    /// The one key that a token with this header may be verified with. A token that names one of the keys is that key's.
    /// One that names none, or one unknown here, is for the only key there is of its algorithm: of all of them, or of those
    /// without names. Where that leaves two, none is tried: which key a token is signed with has one answer.
    func entry(algorithm: String, name: String?) -> Entry? {
        if let name, let named = entries.first(where: { $0.name == name }) { return named }
        let candidates = entries.filter { $0.key.algorithmName == algorithm && (name == nil || $0.name == nil) }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// The only key, if it takes tokens whatever name they ask for. Then there is nothing to choose.
    var onlyUnnamed: Entry? { entries.count == 1 && entries[0].name == nil ? entries[0] : nil }
}
