/// A data type by its object identifier, fixed for built-in types (PostgreSQL's `pg_type.dat`).
package struct PostgresType: Hashable, Sendable {
    package let oid: UInt32

    package static let bool = PostgresType(oid: 16)
    package static let int8 = PostgresType(oid: 20)
    package static let int2 = PostgresType(oid: 21)
    package static let int4 = PostgresType(oid: 23)
    package static let text = PostgresType(oid: 25)
    package static let timestamptz = PostgresType(oid: 1184)
    package static let uuid = PostgresType(oid: 2950)

    /// The type of one-dimensional arrays of `element`.
    package static func array(_ element: PostgresType) -> PostgresType {
        guard let oid = arrayOIDs[element.oid] else { preconditionFailure("no array of \(element) is supported") }
        return PostgresType(oid: oid)
    }

    private static let arrayOIDs: [UInt32: UInt32] = [
        16: 1000, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 1184: 1185, 2950: 2951,
    ]
}
