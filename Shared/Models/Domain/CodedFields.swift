// The two forms of fields that the compiler's coding does not support. It codes everything else, so properties of the
// domain are named exactly like the contract's fields.

/// A field that the contract requires, and that is `null` without a value.
@propertyWrapper
public struct ValueOrNull<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    public var wrappedValue: Value?

    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

/// A field that is either `true` or absent.
@propertyWrapper
public struct TrueOrAbsent: Codable, Hashable, Sendable {
    public var wrappedValue: Bool

    public init(wrappedValue: Bool) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Bool.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

// Overloads that the compiler's coding prefers to the general ones, so that it omits the key.
extension KeyedDecodingContainer {
    func decode(_: TrueOrAbsent.Type, forKey key: Key) throws -> TrueOrAbsent {
        TrueOrAbsent(wrappedValue: try decodeIfPresent(Bool.self, forKey: key) ?? false)
    }
}

extension KeyedEncodingContainer {
    mutating func encode(_ flag: TrueOrAbsent, forKey key: Key) throws {
        if flag.wrappedValue { try encode(true, forKey: key) }
    }
}
