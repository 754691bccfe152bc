import Models

/// A parameter of a statement.
package enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    /// Sixteen bytes.
    case uuid(UUIDBytes)
}

/// What can be stored in a column.
package protocol SQLStorable {
    var sqlValue: SQLValue { get }
}

extension SQLValue: SQLStorable {
    package var sqlValue: SQLValue { self }
}

extension Int64: SQLStorable {
    package var sqlValue: SQLValue { .integer(self) }
}

extension Int: SQLStorable {
    package var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension Bool: SQLStorable {
    package var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension String: SQLStorable {
    package var sqlValue: SQLValue { .text(self) }
}

extension UUIDBytes: SQLStorable {
    package var sqlValue: SQLValue { .uuid(self) }
}

extension ConversationID: SQLStorable {
    package var sqlValue: SQLValue { .uuid(uuid) }
}

extension MessageID: SQLStorable {
    package var sqlValue: SQLValue { .uuid(uuid) }
}

extension UserID: SQLStorable {
    package var sqlValue: SQLValue { .text(name) }
}

/// Milliseconds since 1970, so that a date comes back exactly.
extension Timestamp: SQLStorable {
    package var sqlValue: SQLValue { .integer(milliseconds) }
}

extension Open: SQLStorable {
    package var sqlValue: SQLValue { .text(name) }
}

extension Optional: SQLStorable where Wrapped: SQLStorable {
    package var sqlValue: SQLValue { self?.sqlValue ?? .null }
}
