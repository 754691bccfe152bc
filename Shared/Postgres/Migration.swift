/// One step of a schema. Once merged it is never edited: databases that have applied it would differ from new ones.
public struct Migration: Sendable {
    /// From 1, without gaps.
    public let number: Int32
    public let name: String
    public let sql: String

    public init(_ number: Int32, _ name: String, sql: [UInt8]) {
        self.number = number
        self.name = name
        self.sql = String(decoding: sql, as: UTF8.self)
    }
}

/// Why a schema and the code do not fit together.
public enum MigrationError: Error, Equatable {
    case database(DatabaseError)
    /// An applied migration reads differently now.
    case edited(number: Int32)
    /// The database has migrations that this build does not know.
    case databaseIsNewer(number: Int32)
    /// The database lacks migrations.
    case databaseIsOlder(missing: Int32)
}

extension MigrationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .database(let error): error.debugDescription
        case .edited(let number): "migration \(number) was edited after the database applied it"
        case .databaseIsNewer(let number): "the database has migration \(number), which this build does not know"
        case .databaseIsOlder(let missing): "the database lacks migration \(missing): run `migrate` first"
        }
    }
}
