import JSON
import Models
import Wire

extension Problem {
    /// A problem that names the field and the reason, without any of the document's content.
    init(_ error: JSONError) { self.init(.invalid, error.description) }

    static func missing(_ field: StaticString) -> Problem { Problem(.invalid, "\(field): is missing") }
}

/// Runs a JSON reader and converts its error to a problem for the client.
func reading<Value>(_ body: () throws(JSONError) -> Value) throws(Problem) -> Value {
    do throws(JSONError) { return try body() } catch { throw Problem(error) }
}
