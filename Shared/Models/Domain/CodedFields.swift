// The two forms of fields that the compiler's coding does not write. Everything else is coded by it, which is why
// properties of the domain have the names of the contract's fields, letter by letter.

/// Required by the contract, and `null` where there is no value.
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

/// Says something by being there, always `true`.
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

// The compiler's coding takes these instead of the general ones, and so leaves the key out.
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
