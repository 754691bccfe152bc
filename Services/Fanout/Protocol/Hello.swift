import JSON
import Models
import Wire

/// The first frame of a session: who it is and what it has already.
struct Hello {
    var token = ""
    /// By conversation, the position of the last change the client has.
    var cursors: [ConversationID: Int64] = [:]
    var useq: Int64?
    /// Nil: the client does not follow receipts.
    var statusVersions: [ConversationID: Int64]?
    var logID: String?

    private static let keys: JSONKeys = ["token", "cursors", "useq", "statusVersions", "logId"]

    init(_ json: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(json)
        var hasToken = false
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "token":
                token = try reader.string()
                hasToken = true
            case "cursors": cursors = try Self.positions(&reader) ?? [:]
            case "useq": useq = try reader.consumeNull() ? nil : try reader.position()
            case "statusVersions": statusVersions = try Self.positions(&reader)
            case "logId": logID = try reader.consumeNull() ? nil : try reader.string()
            default: try reader.skip()
            }
        }
        guard hasToken else { throw reader.failure(.expected("a token"), at: 0) }
    }

    /// The version up to which the client has the receipts of a conversation: 0 for one that it holds and names no version
    /// of. Nil: what it has is not to be completed.
    func statusVersion(in conversation: ConversationID) -> Int64? {
        guard let statusVersions else { return nil }
        return statusVersions[conversation] ?? (cursors[conversation] == nil ? nil : 0)
    }

    private static func positions(_ reader: inout JSONReader) throws(JSONError) -> [ConversationID: Int64]? {
        if try reader.consumeNull() { return nil }
        var positions: [ConversationID: Int64] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard let uuid = key.withBytes({ UUIDBytes(text: $0) }) else {
                throw reader.failure(.invalidValue("a conversation id"))
            }
            guard positions.updateValue(try reader.position(), forKey: ConversationID(uuid)) == nil else {
                throw reader.failure(.invalidValue("given once"))
            }
        }
        return positions
    }
}
