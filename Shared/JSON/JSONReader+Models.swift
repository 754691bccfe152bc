import Models

/// Reads the contract's value types from their JSON form.
extension JSONReader {
    /// Reads the lower-case text form of a UUID.
    public mutating func uuid() throws(JSONError) -> UUIDBytes {
        let text = try slice()
        guard let uuid = text.withBytes({ UUIDBytes(text: $0) }) else {
            throw failure(.invalidValue("a UUID in lower case"))
        }
        return uuid
    }

    public mutating func conversationID() throws(JSONError) -> ConversationID { ConversationID(try uuid()) }

    public mutating func messageID() throws(JSONError) -> MessageID { MessageID(try uuid()) }

    public mutating func userID() throws(JSONError) -> UserID {
        guard let user = UserID(try string()) else {
            throw failure(.invalidValue("1 to 64 characters of A-Z a-z 0-9 . _ - @ : +"))
        }
        return user
    }

    public mutating func timestamp() throws(JSONError) -> Timestamp {
        let text = try slice()
        guard let timestamp = text.withBytes({ Timestamp(rfc3339: $0) }) else {
            throw failure(.invalidValue("an RFC 3339 date and time"))
        }
        return timestamp
    }
}
