import CPQ

/// A five-character error code (PostgreSQL Documentation, Appendix A).
public struct SQLState: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first two characters, the class of the condition.
    public var category: Substring { rawValue.prefix(2) }

    public static let featureNotSupported = SQLState(rawValue: "0A000")
    public static let connectionDoesNotExist = SQLState(rawValue: "08003")
    public static let connectionFailure = SQLState(rawValue: "08006")
    public static let foreignKeyViolation = SQLState(rawValue: "23503")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let checkViolation = SQLState(rawValue: "23514")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    /// `lock_timeout`
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let undefinedTable = SQLState(rawValue: "42P01")
    public static let undefinedColumn = SQLState(rawValue: "42703")
    public static let insufficientPrivilege = SQLState(rawValue: "42501")
    public static let invalidSchemaName = SQLState(rawValue: "3F000")
    /// Of Parley: the shard is on another node now (`placement.hold`).
    public static let shardHasMoved = SQLState(rawValue: "PY001")
    /// Of Parley: the slots have another owner now (`placement.hold`).
    public static let epochHasPassed = SQLState(rawValue: "PY002")
}

/// An error of PostgreSQL, or of the connection to it.
///
/// `description` may be shown to anybody. `debugDescription` is for the operator's log. Neither has the server's
/// DETAIL, HINT or CONTEXT, which quote rows and parameters: message text would end up in logs.
public struct DatabaseError: Error, Hashable, Sendable {
    public let sqlState: SQLState
    /// The primary message of the server or of libpq.
    public let message: String
    public let constraint: String?
    /// Whether the server ended the session with this error.
    public let isFatal: Bool

    public init(_ sqlState: SQLState, _ message: String, constraint: String? = nil, isFatal: Bool = false) {
        self.sqlState = sqlState
        self.message = message
        self.constraint = constraint
        self.isFatal = isFatal
    }

    /// Whether the same transaction, sent again, may well succeed: it lost against a concurrent one.
    public var isRaceLost: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }

    public static let notConnected = DatabaseError(.connectionDoesNotExist, "not connected to the database")
}

extension DatabaseError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "database error \(sqlState.rawValue)" }

    public var debugDescription: String {
        let suffix = constraint.map { " (constraint \($0))" } ?? ""
        return "database error \(sqlState.rawValue): \(message)\(suffix)"
    }
}

extension DatabaseError {
    /// The error that the server put into `result`. Nil if libpq itself made the error: then the server reported
    /// nothing, and the fate of the statement is unknown.
    init?(serverErrorIn result: OpaquePointer) {
        guard let state = DiagnosticField.sqlState.text(in: result) else { return nil }
        let severity = DiagnosticField.severity.text(in: result)
        self.init(
            SQLState(rawValue: state), DiagnosticField.primaryMessage.text(in: result) ?? "",
            constraint: DiagnosticField.constraint.text(in: result),
            isFatal: severity == "FATAL" || severity == "PANIC")
    }
}

/// The fields of errors and notices (postgres_ext.h, where they are character macros that Swift cannot import).
enum DiagnosticField: Character {
    /// Never translated, unlike the field `S`.
    case severity = "V"
    case sqlState = "C"
    case primaryMessage = "M"
    case constraint = "n"
    case sourceFunction = "R"

    func text(in result: OpaquePointer) -> String? {
        PQresultErrorField(result, CInt(rawValue.asciiValue!)).map { String(cString: $0) }
    }
}
