/// A name of the contract: a kind, a role, a state or a code. JSON has the name. The database and the bus have the
/// number, if the type has numbers.
///
/// A server may be newer than its client, so names from a server are kept as `Open`.
public protocol ContractName: Hashable, Sendable {
    var name: StaticString { get }

    /// All cases in the contract.
    static var contractCases: [Self] { get }
}

extension ContractName where Self: CaseIterable {
    public static var contractCases: [Self] { Array(allCases) }
}

extension ContractName {
    /// Nil for a name that this version does not know.
    public init?(named name: String) {
        guard let known = Self.contractCases.first(where: { $0.name.isEqual(to: name) }) else { return nil }
        self = known
    }
}

/// A name from a server: one that this version knows, or one of a later version, to be ignored.
///
/// ```
/// switch change.kind {
/// case .known(.messageCreated): …
/// case .known(let other): …
/// case .unknown: break  // It still moves the cursor.
/// }
/// ```
public enum Open<Known: ContractName>: Hashable, Sendable {
    case known(Known)
    case unknown(String)

    public init(_ name: String) { self = Known(named: name).map(Self.known) ?? .unknown(name) }

    public var name: String {
        switch self {
        case .known(let known): known.name.description
        case .unknown(let name): name
        }
    }

    /// Nil for a name of a later version.
    public var known: Known? {
        guard case .known(let known) = self else { return nil }
        return known
    }

    public static func == (left: Self, right: Known) -> Bool { left.known == right }
    public static func != (left: Self, right: Known) -> Bool { left.known != right }
}

extension Open: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(text: name) }
}

extension StaticString {
    fileprivate func isEqual(to text: String) -> Bool {
        text.utf8.elementsEqual(UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount))
    }
}
