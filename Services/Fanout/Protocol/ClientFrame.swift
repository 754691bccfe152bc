import JSON
import Models
import Wire

/// A frame from a client, as in api.md.
enum ClientFrame {
    /// Only the token; the rest is read by `HelloReader`.
    case hello(token: String)
    case delivered([ReceiptItem])
    case read([ReceiptItem])
    case typing(ConversationID, isActive: Bool)
    case auth(token: String)
    /// The id as encoded between its quotes, borrowed from the frame.
    case ping(id: JSONString?)
    /// A frame of a type that this version does not know. It is ignored.
    case unknown

    /// The keys of all frames except hello and receipts. Every frame has `type`.
    private static let keys: JSONKeys = ["type", "conversationId", "active", "token", "id"]

    struct ReceiptItem: Equatable {
        var conversation: ConversationID
        var seq: Int64
    }

    init(_ json: UnsafeRawBufferPointer) throws(JSONError) {
        switch try Self.type(of: json) {
        case "hello": self = .hello(token: try Self.token(json))
        case "delivered": self = .delivered(try Self.receiptItems(json))
        case "read": self = .read(try Self.receiptItems(json))
        case "typing": self = try Self.typing(json)
        case "auth": self = .auth(token: try Self.token(json))
        case "ping": self = .ping(id: try Self.pingID(json))
        default: self = .unknown
        }
    }

    /// Reads the type, and validates the whole frame for the readers that follow. The type need not come first.
    private static func type(of json: UnsafeRawBufferPointer) throws(JSONError) -> JSONString {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var type: JSONString?
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "type": type = try reader.slice()
            default: try reader.skip()
            }
        }
        try reader.end()
        guard let type else { throw reader.failure(.expected("a type"), at: 0) }
        return type
    }

    private static func receiptItems(_ json: UnsafeRawBufferPointer) throws(JSONError) -> [ReceiptItem] {
        var reader = JSONReader(json)
        var items: [ReceiptItem]?
        let single = try ReceiptFields(&reader) { (reader) throws(JSONError) in
            var list: [ReceiptItem] = []
            try reader.beginArray()
            while try reader.nextElement() {
                guard let item = try ReceiptFields(&reader).item else {
                    throw reader.failure(.invalidValue("an object with conversationId and seq"))
                }
                list.append(item)
            }
            items = list
        }.item
        switch (single, items) {
        case (let item?, nil): return [item]
        case (nil, let items?): return items
        case (nil, nil), (_?, _?): throw reader.failure(.expected("conversationId and seq, or items"), at: 0)
        }
    }

    private static func typing(_ json: UnsafeRawBufferPointer) throws(JSONError) -> ClientFrame {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var conversation: ConversationID?
        var isActive: Bool?
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "conversationId": conversation = try reader.conversationID()
            case "active": isActive = try reader.bool()
            default: try reader.skip()
            }
        }
        guard let conversation, let isActive else {
            throw reader.failure(.expected("conversationId and active"), at: 0)
        }
        return .typing(conversation, isActive: isActive)
    }

    private static func token(_ json: UnsafeRawBufferPointer) throws(JSONError) -> String {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var token: String?
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "token": token = try reader.string()
            default: try reader.skip()
            }
        }
        guard let token else { throw reader.failure(.expected("a token"), at: 0) }
        return token
    }

    private static let pingIDLimit = 64

    private static func pingID(_ json: UnsafeRawBufferPointer) throws(JSONError) -> JSONString? {
        var reader = JSONReader(json)
        var given = JSONKeys.Given()
        var id: JSONString?
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "id": id = try reader.consumeNull() ? nil : try reader.slice()
            default: try reader.skip()
            }
        }
        if let id, id.encoded.count > pingIDLimit {
            throw reader.failure(.invalidValue("an id of at most 64 bytes"), at: 0)
        }
        return id
    }
}

/// The fields of `{conversationId, seq}`, found in a receipt frame itself or in each of its items.
private struct ReceiptFields {
    private var conversation: ConversationID?
    private var seq: Int64?

    private static let keys: JSONKeys = ["conversationId", "seq", "items"]

    var item: ClientFrame.ReceiptItem? {
        guard let conversation, let seq else { return nil }
        return ClientFrame.ReceiptItem(conversation: conversation, seq: seq)
    }

    init(
        _ reader: inout JSONReader,
        items: (inout JSONReader) throws(JSONError) -> Void = { (reader) throws(JSONError) in try reader.skip() }
    ) throws(JSONError) {
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "conversationId": conversation = try reader.conversationID()
            case "seq": seq = try reader.position()
            case "items": try items(&reader)
            default: try reader.skip()
            }
        }
    }
}
