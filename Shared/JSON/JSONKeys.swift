/// The known keys of an object. Each may be given once: of two values, another reader of the same bytes might use the
/// other one. Unknown keys may be repeated.
///
/// ```
/// let keys: JSONKeys = ["id", "text"]
/// var given = JSONKeys.Given()
/// while let key = try reader.nextKey(of: keys, &given) { … }
/// ```
public struct JSONKeys: ExpressibleByArrayLiteral, Sendable {
    /// The known keys that one object has given so far.
    public struct Given {
        fileprivate var bits: UInt64 = 0
        public init() {}
    }

    private let names: [StaticString]

    public init(arrayLiteral names: StaticString...) {
        precondition(names.count <= 64, "at most 64 keys")
        self.names = names
    }

    fileprivate func bit(of key: JSONString) -> UInt64 {
        names.firstIndex { key == $0 }.map { 1 << UInt64($0) } ?? 0
    }
}

extension JSONReader {
    /// The next key of the innermost object, refused when it is one of `keys` and was given before; nil at the end.
    public mutating func nextKey(of keys: JSONKeys, _ given: inout JSONKeys.Given) throws(JSONError) -> JSONString? {
        guard let key = try nextKey() else { return nil }
        let bit = keys.bit(of: key)
        guard given.bits & bit == 0 else { throw failure(.invalidValue("given once")) }
        given.bits |= bit
        return key
    }
}
