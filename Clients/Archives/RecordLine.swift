import Foundation

/// A record as a line of NDJSON, without the line feed. Keys are in alphabetical order, so equal records are equal bytes.
package struct RecordLine {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    package init() { encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes] }

    package func bytes(_ record: ImportRecord) throws -> [UInt8] { Array(try encoder.encode(record)) }

    package func record(_ line: some Sequence<UInt8>) throws -> ImportRecord {
        do {
            return try decoder.decode(ImportRecord.self, from: Data(line))
        } catch let error as DecodingError {
            throw ArchiveError(Self.explanation(error))
        }
    }

    /// Names the field, never its value.
    private static func explanation(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "\(key.stringValue): is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context): "\(path(context)): is of another type"
        case .dataCorrupted(let context):
            "\(path(context)): \(context.codingPath.isEmpty ? "is no JSON" : "is not valid")"
        @unknown default: "is no record"
        }
    }

    private static func path(_ context: DecodingError.Context) -> String {
        context.codingPath.isEmpty ? "line" : context.codingPath.map(\.stringValue).joined(separator: ".")
    }
}
