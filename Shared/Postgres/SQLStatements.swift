/// Splits a text into its statements, without their semicolons and comments. It does not support `BEGIN ATOMIC`, whose
/// bodies contain semicolons.
enum SQLStatements {
    /// Returns the statements of `sql`.
    static func of(_ sql: String) -> [String] {
        var scanner = SQLScanner(sql)
        var statements: [String] = []
        var current: [UInt8] = []
        while let piece = scanner.next() {
            switch piece {
            case .code(UInt8(ascii: ";")):
                statements.append(text(of: current))
                current = []
            case .code(let byte): current.append(byte)
            case .verbatim(let range): current += scanner.bytes[range]
            case .lineComment: break
            case .blockComment: current.append(UInt8(ascii: " "))
            }
        }
        return (statements + [text(of: current)]).filter { !$0.isEmpty }
    }

    private static func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).trimmed }
}
