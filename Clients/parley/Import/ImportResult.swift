import JSON

/// What became of a line, as the response says: `{"line":7,"status":200}`, else with a `problem`.
struct ImportResult: Equatable {
    var line = 0
    var status = 0
    /// The problem's stable code and its sentence.
    var code = ""
    var detail = ""

    init(line: Int, status: Int, code: String = "", detail: String = "") {
        self.line = line
        self.status = status
        self.code = code
        self.detail = detail
    }

    init(_ json: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(json)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "line": line = Int(try reader.integer())
            case "status": status = Int(try reader.integer())
            case "problem": try readProblem(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    private mutating func readProblem(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "code": code = try reader.string()
            case "detail": detail = try reader.string()
            default: try reader.skip()
            }
        }
    }
}

/// The response to an import as it arrives: bytes in, results out.
struct ImportResultReader {
    /// The response is none to an import.
    struct Violation: Error, Equatable {
        let reason: String
    }

    /// The beginning of a result whose end has not arrived.
    private var partial: [UInt8] = []

    private static let longestLine = 64 * 1024

    mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ receive: (ImportResult) throws(Violation) -> Void
    ) throws(Violation) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            try receive(try result(endingWith: line))
        }
        partial.append(contentsOf: rest)
        guard partial.count <= Self.longestLine else { throw Violation(reason: "a result has more than 64 KiB") }
    }

    private mutating func result(endingWith rest: UnsafeRawBufferPointer) throws(Violation) -> ImportResult {
        defer { partial.removeAll(keepingCapacity: true) }
        do {
            guard !partial.isEmpty else { return try ImportResult(rest) }
            partial.append(contentsOf: rest)
            return try partial.withUnsafeBytes { try ImportResult($0) }
        } catch {
            throw Violation(reason: "a result is not readable: \(error)")
        }
    }
}
