import Models

extension DirectConversation {
    package static func id(_ one: UserID, _ other: UserID) -> ConversationID {
        id(one, other) { SHA256.digest(of: Array($0.utf8)) }
    }
}
