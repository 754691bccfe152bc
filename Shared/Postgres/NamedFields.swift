/// A Swift type of a parameter or a column.
public protocol StatementValue {
    static var statementType: PostgresType { get }
}

extension PostgresValue {
    public static var statementType: PostgresType { postgresType }
}

/// A value that may be NULL.
extension Optional: StatementValue where Wrapped: StatementValue {
    public static var statementType: PostgresType { Wrapped.statementType }
}

extension Array: StatementValue where Element: StatementValue {
    public static var statementType: PostgresType { .array(Element.statementType) }
}

/// The type of a column that has no value, because the function it calls returns `void`.
public enum NoValue: StatementValue {
    public static var statementType: PostgresType { .void }
}

/// A parameter of a `PreparedStatement`.
///
///     struct Input: NamedFields {
///         let conversation: Parameter<ConversationID>
///         let replyTo: Parameter<MessageID?>
///     }
///
/// It knows its position, which is found by its name when the statement is created.
public struct Parameter<Value: StatementValue>: NamedField {
    let position: Int
    static var type: PostgresType { Value.statementType }
}

/// A column of the rows that a `PreparedStatement` returns. It is declared like a `Parameter`.
public struct Column<Value: StatementValue>: NamedField {
    let position: Int
    static var type: PostgresType { Value.statementType }
}

/// The parameters or the columns of a statement: a struct of `Parameter`s or of `Column`s. It may also hold other such
/// structs that several statements share. A property has the name of the SQL in camel case: `changedSeq` for
/// `changed_seq`.
///
/// The compiler writes the lookup: decoding a struct requests each of its properties by name.
public typealias NamedFields = Decodable & Sendable

/// The fields of a statement without parameters, or without columns.
public struct NoFields: NamedFields {}

protocol NamedField: NamedFields {
    init(position: Int)
    static var type: PostgresType { get }
}

extension NamedField {
    public init(from decoder: any Decoder) throws { throw FieldError("a field stands in a struct of fields") }
}

/// A mismatch between a struct and the header of a file.
struct FieldError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Finds the fields of a struct among those of a header.
struct FieldDecoder: Decoder {
    /// The names that were requested.
    final class Found { var names: Set<String> = [] }

    let fields: [Statement.Field]
    let found = Found()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Returns the struct, which must have all of `fields` and no others.
    static func decode<Fields: NamedFields>(_ type: Fields.Type, _ fields: [Statement.Field]) throws -> Fields {
        let decoder = FieldDecoder(fields: fields)
        let result = try type.init(from: decoder)
        for field in fields where !decoder.found.names.contains(field.name) {
            throw FieldError("\(type) does not have \(field.name)")
        }
        return result
    }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(FieldContainer(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw FieldError("fields have names") }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw FieldError("fields have names") }

    fileprivate func field<Value: Decodable>(_ type: Value.Type, _ property: String) throws -> Value {
        guard let fieldType = type as? any NamedField.Type else { return try type.init(from: self) }
        let name = Self.name(ofProperty: property)
        guard let position = fields.firstIndex(where: { $0.name == name }) else {
            throw FieldError("the header does not declare \(name)")
        }
        guard fields[position].type == fieldType.type else {
            throw FieldError("\(name) has another type in Swift")
        }
        found.names.insert(name)
        return fieldType.init(position: position) as! Value
    }

    /// Turns `changedSeq` into `changed_seq`.
    private static func name(ofProperty property: String) -> String {
        property.reduce(into: "") { name, character in
            name += character.isUppercase ? "_\(character.lowercased())" : String(character)
        }
    }
}

private struct FieldContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: FieldDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_: Key) -> Bool { true }
    func decodeNil(forKey _: Key) -> Bool { false }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder.field(type, key.stringValue) }

    // Values that are not fields.
    func decode(_: Bool.Type, forKey key: Key) throws -> Bool { throw noField(key) }
    func decode(_: String.Type, forKey key: Key) throws -> String { throw noField(key) }
    func decode(_: Double.Type, forKey key: Key) throws -> Double { throw noField(key) }
    func decode(_: Float.Type, forKey key: Key) throws -> Float { throw noField(key) }
    func decode(_: Int.Type, forKey key: Key) throws -> Int { throw noField(key) }
    func decode(_: Int8.Type, forKey key: Key) throws -> Int8 { throw noField(key) }
    func decode(_: Int16.Type, forKey key: Key) throws -> Int16 { throw noField(key) }
    func decode(_: Int32.Type, forKey key: Key) throws -> Int32 { throw noField(key) }
    func decode(_: Int64.Type, forKey key: Key) throws -> Int64 { throw noField(key) }
    func decode(_: UInt.Type, forKey key: Key) throws -> UInt { throw noField(key) }
    func decode(_: UInt8.Type, forKey key: Key) throws -> UInt8 { throw noField(key) }
    func decode(_: UInt16.Type, forKey key: Key) throws -> UInt16 { throw noField(key) }
    func decode(_: UInt32.Type, forKey key: Key) throws -> UInt32 { throw noField(key) }
    func decode(_: UInt64.Type, forKey key: Key) throws -> UInt64 { throw noField(key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw noField(key) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw noField(key) }
    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey _: Key) throws -> any Decoder { decoder }

    private func noField(_ key: Key) -> FieldError { FieldError("\(key.stringValue) is no field") }
}
