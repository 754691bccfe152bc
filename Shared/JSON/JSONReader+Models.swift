import Models

/// The value types of the contract, read from their JSON form.
extension JSONReader {
    /// The lower-case text form of a UUID.
    package mutating func uuid() throws(JSONError) -> UUIDBytes {
        let text = try slice()
        guard let uuid = text.withBytes({ UUIDBytes(text: $0) }) else {
            throw failure(.invalidValue("a UUID in lower case"))
        }
        return uuid
    }

    package mutating func conversationID() throws(JSONError) -> ConversationID { ConversationID(try uuid()) }

    package mutating func messageID() throws(JSONError) -> MessageID { MessageID(try uuid()) }

    package mutating func userID() throws(JSONError) -> UserID {
        guard let user = UserID(try string()) else {
            throw failure(.invalidValue("1 to 64 characters of A-Z a-z 0-9 . _ - @ : +"))
        }
        return user
    }

    package mutating func timestamp() throws(JSONError) -> Timestamp {
        let text = try slice()
        guard let timestamp = text.withBytes({ Timestamp(rfc3339: $0) }) else {
            throw failure(.invalidValue("an RFC 3339 date and time"))
        }
        return timestamp
    }
}
