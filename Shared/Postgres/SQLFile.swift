/// A file with one statement, or with a fragment that several share: leading comments, and SQL.
///
///     -- The messages of a conversation that are nearest to a position, on its older side.
///     --
///     -- :slot         smallint
///     -- :conversation uuid
///     -- :pivot        bigint     the first one that is not wanted
///     -- :limit        bigint
///     --
///     -- > seq         bigint
///     -- > id          uuid
///     SELECT m.seq, m.id FROM store.messages m
///     WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq < :pivot
///     ORDER BY m.seq DESC LIMIT :limit
///
/// `-- :name type` declares a parameter. `-- > name type` declares a column of the result, in order. Text after the
/// type is for the reader. `-- > {fragment}` declares the columns that a fragment declares. SQL refers to a parameter
/// by `:name` and to a name of `SQLNames` by `{name}`. A fragment declares its names without types.
struct SQLFile: Sendable {
    struct Field: Equatable, Sendable {
        let name: String
        let type: String
    }

    let name: String
    let parameters: [Field]
    private let columns: [Field]
    private let body: String

    init(_ name: String, _ bytes: [UInt8]) throws(SQLFileError) {
        self.name = name
        // Bytes, not characters: a process reads hundreds of files before it starts.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let header = lines.prefix { $0.starts(with: "--".utf8) }
        var parameters: [Field] = [], columns: [Field] = []
        for line in header {
            let words = line.dropFirst(2).split(whereSeparator: SQLScanner.isWhitespace)
                .map { String(decoding: $0, as: UTF8.self) }
            guard let first = words.first else { continue }
            if first == ">" {
                guard words.count > 2 || words.count == 2 && words[1].hasPrefix("{") else {
                    throw SQLFileError(name, "a column has a name and a type: \(String(decoding: line, as: UTF8.self))")
                }
                columns.append(Field(name: words[1], type: words.count > 2 ? words[2] : ""))
            } else if first.hasPrefix(":") {
                parameters.append(Field(name: String(first.dropFirst()), type: words.count > 1 ? words[1] : ""))
            }
        }
        self.parameters = parameters
        self.columns = columns
        for fields in [parameters, columns] where Set(fields.map(\.name)).count != fields.count {
            throw SQLFileError(name, "the header declares a name twice")
        }
        body = Self.joined(lines[header.endIndex...])
    }

    /// The columns, including those of fragments.
    func columns(_ names: SQLNames) throws(SQLFileError) -> [Field] {
        var result: [Field] = []
        for column in columns {
            guard column.name.hasPrefix("{") else {
                result.append(column)
                continue
            }
            guard case .fragment(let fragment)? = names.meanings[String(column.name.dropFirst().dropLast())] else {
                throw SQLFileError(name, "\(column.name) is no fragment")
            }
            result += try fragment.columns(names)
        }
        return result
    }

    // MARK: Expansion

    /// The SQL for the server: parameters numbered in the order of the header, names replaced, comments removed.
    func sql(_ names: SQLNames) throws(SQLFileError) -> String {
        var scope = Scope()
        for (index, parameter) in parameters.enumerated() { scope.values[parameter.name] = "$\(index + 1)" }
        let sql = try expand(body, &scope, names).trimmed
        for parameter in parameters where !scope.used.contains(parameter.name) {
            throw SQLFileError(name, "the header declares :\(parameter.name), which nothing uses")
        }
        return sql
    }

    /// The meaning of names with a colon.
    private struct Scope {
        var values: [String: String] = [:]
        var used: Set<String> = []
    }

    private func expand(_ text: String, _ scope: inout Scope, _ names: SQLNames) throws(SQLFileError) -> String {
        var scanner = SQLScanner(text)
        var result: [UInt8] = []
        while let piece = scanner.next() {
            switch piece {
            case .verbatim(let range): result += scanner.bytes[range]
            case .lineComment: break
            case .blockComment: result.append(UInt8(ascii: " "))
            case .code(UInt8(ascii: ":")): result += try expandColon(&scanner, &scope).utf8
            case .code(UInt8(ascii: "{")):
                let reference = try takeBraces(&scanner)
                result += try expand(reference: reference, &scope, names).utf8
            case .code(UInt8(ascii: ";")):
                throw SQLFileError(name, "a file has one statement, without a semicolon")
            case .code(let byte): result.append(byte)
            }
        }
        return Self.withoutEmptyLines(result)
    }

    /// Expands a parameter. `::`, a cast, stays unchanged, and so does a colon before anything but a name.
    private func expandColon(_ scanner: inout SQLScanner, _ scope: inout Scope) throws(SQLFileError) -> String {
        if scanner.following == UInt8(ascii: ":") { return ":" + scanner.take { $0 == UInt8(ascii: ":") } }
        guard let next = scanner.following, SQLScanner.isNameCharacter(next), !SQLScanner.isDigit(next) else {
            return ":"
        }
        let parameter = scanner.take(while: SQLScanner.isNameCharacter)
        guard let value = scope.values[parameter] else {
            throw SQLFileError(name, "nothing declares :\(parameter)")
        }
        scope.used.insert(parameter)
        return value
    }

    /// Takes the text up to the brace that closes the one just read.
    private func takeBraces(_ scanner: inout SQLScanner) throws(SQLFileError) -> String {
        var depth = 1
        let start = scanner.position
        while let piece = scanner.next() {
            if piece == .code(UInt8(ascii: "{")) { depth += 1 }
            if piece == .code(UInt8(ascii: "}")) { depth -= 1 }
            if depth == 0 {
                return String(decoding: scanner.bytes[start..<(scanner.position - 1)], as: UTF8.self)
            }
        }
        throw SQLFileError(name, "a brace is not closed")
    }

    private func expand(
        reference: String, _ scope: inout Scope, _ names: SQLNames
    ) throws(SQLFileError) -> String {
        let end = reference.utf8.firstIndex(of: UInt8(ascii: "(")) ?? reference.endIndex
        let called = reference[..<end].trimmed
        let arguments = try arguments(reference[end...], &scope, names)
        switch names.meanings[called] {
        case .value(let value) where arguments.isEmpty: return value
        case .fragment(let fragment): return try fragment.included(arguments, by: name, &scope, names)
        default: throw SQLFileError(name, "{\(reference)} names nothing that there is")
        }
    }

    /// Reads the arguments of a fragment: `(name => SQL, …)`, or none.
    private func arguments(
        _ text: Substring, _ scope: inout Scope, _ names: SQLNames
    ) throws(SQLFileError) -> [String: String] {
        let list = text.trimmed
        guard !list.isEmpty else { return [:] }
        guard list.hasPrefix("("), list.hasSuffix(")") else {
            throw SQLFileError(name, "arguments stand in parentheses: \(list)")
        }
        var arguments: [String: String] = [:]
        for argument in Self.splitAtCommas(String(list.dropFirst().dropLast())) {
            let parts = argument.split(separator: "=>", maxSplits: 1)
            guard parts.count == 2 else { throw SQLFileError(name, "an argument is name => SQL: \(argument)") }
            arguments[parts[0].trimmed] = try expand(parts[1].trimmed, &scope, names)
        }
        return arguments
    }

    /// Returns the body of a fragment. Parameters without an argument come from the including scope.
    private func included(
        _ arguments: [String: String], by includer: String, _ outer: inout Scope, _ names: SQLNames
    ) throws(SQLFileError) -> String {
        var scope = Scope()
        for parameter in parameters {
            guard let value = arguments[parameter.name] ?? outer.values[parameter.name] else {
                throw SQLFileError(includer, "{\(name)} needs \(parameter.name)")
            }
            if arguments[parameter.name] == nil { outer.used.insert(parameter.name) }
            scope.values[parameter.name] = value
        }
        for argument in arguments.keys where scope.values[argument] == nil {
            throw SQLFileError(includer, "{\(name)} takes no \(argument)")
        }
        return try expand(body, &scope, names).trimmed
    }

    private static func splitAtCommas(_ list: String) -> [String] {
        var scanner = SQLScanner(list)
        var parts: [[UInt8]] = [[]]
        var depth = 0
        while let piece = scanner.next() {
            switch piece {
            case .code(UInt8(ascii: ",")) where depth == 0: parts.append([])
            case .code(let byte):
                if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "{") { depth += 1 }
                if byte == UInt8(ascii: ")") || byte == UInt8(ascii: "}") { depth -= 1 }
                parts[parts.count - 1].append(byte)
            case .verbatim(let range): parts[parts.count - 1] += scanner.bytes[range]
            case .lineComment, .blockComment: break
            }
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Removes the empty lines that comments leave.
    private static func withoutEmptyLines(_ bytes: [UInt8]) -> String {
        joined(bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.allSatisfy(SQLScanner.isWhitespace) })
    }

    private static func joined(_ lines: some Sequence<ArraySlice<UInt8>>) -> String {
        String(decoding: Array(lines.joined(separator: CollectionOfOne(UInt8(ascii: "\n")))), as: UTF8.self)
    }
}

/// An error in a file.
struct SQLFileError: Error, Equatable, CustomStringConvertible {
    let file: String
    let problem: String

    init(_ file: String, _ problem: String) { (self.file, self.problem) = (file, problem) }

    var description: String { "\(file).sql: \(problem)" }
}
