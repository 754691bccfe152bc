import JSON
import Models

/// A message of the contract, with the fields that this client needs.
public struct MessageView: JSONObject, Equatable, Sendable {
    public var id: MessageID?
    public var seq: Int64 = 0
    public var sender: UserID?
    public var kind = ""
    public var text: String?
    public var replyTo: MessageID?
    public var createdAt: Timestamp?
    public var isDeleted = false

    public init() {}

    public mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "id": id = try reader.messageID()
        case "seq": seq = try reader.integer()
        case "senderId": sender = try reader.userID()
        case "kind": kind = try reader.string()
        case "text": text = try reader.consumeNull() ? nil : try reader.string()
        case "replyTo": replyTo = try Self.parent(&reader)
        case "createdAt": createdAt = try reader.timestamp()
        case "deletedForEveryone": isDeleted = try reader.bool()
        default: try reader.skip()
        }
    }

    /// Reads the id in a reference to a parent.
    static func parent(_ reader: inout JSONReader) throws(JSONError) -> MessageID? {
        var parent: MessageID?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "messageId" { parent = try reader.messageID() } else { try reader.skip() }
        }
        return parent
    }
}

/// The required fields of an acknowledgement: the message and its position.
public struct AcknowledgedMessage: Equatable {
    public let id: MessageID
    public let seq: Int64

    public init(id: MessageID, seq: Int64) {
        self.id = id
        self.seq = seq
    }

    public init?(document: UnsafeRawBufferPointer) {
        var id: MessageID?
        var seq: Int64?
        do {
            var reader = JSONReader(document)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "id": id = try reader.messageID()
                case "seq": seq = try reader.integer()
                default: try reader.skip()
                }
            }
            try reader.end()
        } catch {
            return nil
        }
        guard let id, let seq else { return nil }
        self.id = id
        self.seq = seq
    }
}
