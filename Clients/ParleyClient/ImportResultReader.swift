import Foundation
import JSON
import Models

/// The response to an import as it arrives: bytes in, results out.
public struct ImportResultReader {
    /// The response is none to an import.
    public struct Violation: Error, Equatable {
        public let reason: String
        public init(reason: String) { self.reason = reason }
    }

    /// The beginning of a result whose end has not arrived.
    private var partial: [UInt8] = []

    private static let longestLine = 64 * 1024

    public init() {}

    public mutating func take(
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

extension ImportResult {
    fileprivate init(_ json: UnsafeRawBufferPointer) throws {
        var (line, status): (Int64?, Int64?)
        var problem: ProblemDetails?
        var reader = JSONReader(json)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "line": line = try reader.integer()
            case "status": status = try reader.integer()
            // Seldom there, so what is slow and read by one piece of code suffices.
            case "problem":
                problem = try JSONDecoder().decode(ProblemDetails.self, from: Data(try reader.encodedValue()))
            default: try reader.skip()
            }
        }
        try reader.end()
        guard let line, let status else { throw reader.failure(.expected("a line and its status")) }
        self.init(line: Int(line), status: Int(status), problem: problem)
    }
}
