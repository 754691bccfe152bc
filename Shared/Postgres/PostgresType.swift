/// A data type by its object identifier, fixed for built-in types (PostgreSQL's `pg_type.dat`).
public struct PostgresType: Hashable, Sendable {
    public let oid: UInt32

    public static let bool = PostgresType(oid: 16)
    public static let int8 = PostgresType(oid: 20)
    public static let int2 = PostgresType(oid: 21)
    public static let int4 = PostgresType(oid: 23)
    public static let text = PostgresType(oid: 25)
    public static let timestamptz = PostgresType(oid: 1184)
    public static let uuid = PostgresType(oid: 2950)
    /// What a function without a result returns.
    public static let void = PostgresType(oid: 2278)

    /// The type of one-dimensional arrays of `element`.
    public static func array(_ element: PostgresType) -> PostgresType {
        guard let oid = arrayOIDs[element.oid] else { preconditionFailure("no array of \(element) is supported") }
        return PostgresType(oid: oid)
    }

    /// Of an array: the type of its elements.
    public var element: PostgresType? {
        Self.arrayOIDs.first { $0.value == oid }.map { PostgresType(oid: $0.key) }
    }

    public var isArray: Bool { element != nil }

    fileprivate static let byName: [String: PostgresType] = [
        "boolean": .bool, "bigint": .int8, "smallint": .int2, "integer": .int4, "text": .text,
        "timestamptz": .timestamptz, "uuid": .uuid, "void": .void,
    ]

    fileprivate static let arrayOIDs: [UInt32: UInt32] = [
        16: 1000, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 1184: 1185, 2950: 2951,
    ]
}

extension PostgresType: CustomStringConvertible {
    /// The name of the type in SQL.
    public var description: String {
        if let name = Self.byName.first(where: { $0.value == self })?.key { return name }
        if let element = Self.arrayOIDs.first(where: { $0.value == oid })?.key {
            return "\(PostgresType(oid: element))[]"
        }
        return "type \(oid)"
    }

    /// Finds a type by its name in SQL.
    init?(named name: String) {
        let element = name.hasSuffix("[]") ? String(name.dropLast(2)) : name
        guard let type = Self.byName[element] else { return nil }
        guard element != name else {
            self = type
            return
        }
        guard Self.arrayOIDs[type.oid] != nil else { return nil }
        self = .array(type)
    }
}
