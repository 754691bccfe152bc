import JSON
import Models

/// `GET …/digest`: digests of a user's view of a conversation.
public struct DigestPage: JSONObject, Sendable {
    /// The digests of a page of positions, in hexadecimal digits.
    public struct Entry: JSONObject, Equatable, Sendable {
        public var first: Int64 = 0
        public var last: Int64 = 0
        public var changes = ""
        public var state = ""

        public init() {}

        public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "fromSeq": first = try reader.integer()
            case "toSeq": last = try reader.integer()
            case "changes": changes = try reader.string()
            case "state": state = try reader.string()
            default: try reader.skip()
            }
        }
    }

    public var entries: [Entry] = []
    public var lastSeq: Int64 = 0
    public var hasMore = false

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "pages": entries = try Entry.list(&reader)
        case "lastSeq": lastSeq = try reader.integer()
        case "more": hasMore = try reader.bool()
        default: try reader.skip()
        }
    }
}
