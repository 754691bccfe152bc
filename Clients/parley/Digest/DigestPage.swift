import JSON
import Models

/// `GET …/digest`: digests of what a user sees of a conversation.
struct DigestPage: JSONObject, Sendable {
    /// The digests of a page of positions, in hexadecimal digits.
    struct Entry: JSONObject, Equatable, Sendable {
        var first: Int64 = 0
        var last: Int64 = 0
        var changes = ""
        var state = ""

        mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "fromSeq": first = try reader.integer()
            case "toSeq": last = try reader.integer()
            case "changes": changes = try reader.string()
            case "state": state = try reader.string()
            default: try reader.skip()
            }
        }
    }

    var entries: [Entry] = []
    var lastSeq: Int64 = 0
    var hasMore = false

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "pages": entries = try Entry.list(&reader)
        case "lastSeq": lastSeq = try reader.integer()
        case "more": hasMore = try reader.bool()
        default: try reader.skip()
        }
    }
}
