import JSON
import Models

/// `GET …/digest`: digests of what a user sees of a conversation.
struct DigestPage: Sendable {
    /// The digests of a page of positions, in hexadecimal digits.
    struct Entry: Equatable, Sendable {
        var first: Int64 = 0
        var last: Int64 = 0
        var changes = ""
        var state = ""
    }

    var entries: [Entry] = []
    var lastSeq: Int64 = 0
    var hasMore = false

    init(document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try read(&reader)
            try reader.end()
        }
    }

    private mutating func read(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "pages":
                try reader.beginArray()
                while try reader.nextElement() { entries.append(try Self.entry(&reader)) }
            case "lastSeq": lastSeq = try reader.integer()
            case "more": hasMore = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    private static func entry(_ reader: inout JSONReader) throws(JSONError) -> Entry {
        var entry = Entry()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "fromSeq": entry.first = try reader.integer()
            case "toSeq": entry.last = try reader.integer()
            case "changes": entry.changes = try reader.string()
            case "state": entry.state = try reader.string()
            default: try reader.skip()
            }
        }
        return entry
    }
}
