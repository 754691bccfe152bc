// Identifiers are strings in JSON, and keys of objects. Anything else is refused: no version of this contract gives an
// identifier another form.

extension UUIDBytes: Codable, CodingKeyRepresentable {
    public init(from decoder: any Decoder) throws {
        self = try decoder.text("a UUID in lower case") { UUIDBytes($0) }
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(text: description) }

    public var codingKey: any CodingKey { TextKey(description) }

    public init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }
}

extension ConversationID: Codable, CodingKeyRepresentable {
    public init(from decoder: any Decoder) throws { self.init(try UUIDBytes(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try uuid.encode(to: encoder) }

    public var codingKey: any CodingKey { uuid.codingKey }

    public init?(codingKey: some CodingKey) {
        guard let uuid = UUIDBytes(codingKey: codingKey) else { return nil }
        self.init(uuid)
    }
}

extension MessageID: Codable {
    public init(from decoder: any Decoder) throws { self.init(try UUIDBytes(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try uuid.encode(to: encoder) }
}

extension MediaID: Codable {
    public init(from decoder: any Decoder) throws { self.init(try UUIDBytes(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try uuid.encode(to: encoder) }
}

extension InvitationID: Codable {
    public init(from decoder: any Decoder) throws { self.init(try UUIDBytes(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try uuid.encode(to: encoder) }
}

extension ReportID: Codable {
    public init(from decoder: any Decoder) throws { self.init(try UUIDBytes(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try uuid.encode(to: encoder) }
}

extension UserID: Codable, CodingKeyRepresentable {
    public init(from decoder: any Decoder) throws {
        self = try decoder.text("1 to 64 characters of A-Z a-z 0-9 . _ - @ : +") { UserID($0) }
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(text: name) }

    public var codingKey: any CodingKey { TextKey(name) }

    public init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }
}

/// A key of an object that has one member per item.
struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Returns the value of a string.
    func text<Value>(_ expected: String, _ read: (String) -> Value?) throws -> Value {
        guard let value = read(try singleValueContainer().decode(String.self)) else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "must be \(expected)"))
        }
        return value
    }
}

extension Encoder {
    func encode(text: String) throws {
        var container = singleValueContainer()
        try container.encode(text)
    }
}
