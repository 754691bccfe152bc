import JSON
import Models
import Wire

extension Problem {
    /// What is wrong with a document: the field's name and the reason, nothing of its content.
    init(_ error: JSONError) { self.init(.invalid, error.description) }

    static func missing(_ field: StaticString) -> Problem { Problem(.invalid, "\(field): is missing") }
}

/// Runs a reader of JSON and turns its refusal into the client's problem.
func reading<Value>(_ body: () throws(JSONError) -> Value) throws(Problem) -> Value {
    do throws(JSONError) { return try body() } catch { throw Problem(error) }
}
