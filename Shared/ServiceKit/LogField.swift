import Bytes
import JSON

/// One named value of a log line.
public struct LogField: Sendable {
    private enum Value: Sendable {
        case text(String)
        case integer(Int64)
        case flag(Bool)
    }
    private let name: String
    private let value: Value

    public init(_ name: String, _ text: String) { (self.name, value) = (name, .text(text)) }
    public init(_ name: String, _ number: some BinaryInteger) {
        (self.name, value) = (name, .integer(Int64(clamping: number)))
    }
    public init(_ name: String, _ flag: Bool) { (self.name, value) = (name, .flag(flag)) }
    /// A field with the description of an identifier or an error.
    public init(_ name: String, describing value: some Any) { self.init(name, "\(value)") }

    func write(to line: inout ByteBuffer) {
        line.append(dynamicKey: name)
        switch value {
        case .text(let text): line.appendJSON(text)
        case .integer(let number): line.appendJSON(number)
        case .flag(let flag): line.appendJSON(flag)
        }
    }
}
