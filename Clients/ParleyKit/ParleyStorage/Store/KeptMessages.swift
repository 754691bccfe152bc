import Models

// For `MessageStore`: messages by themselves, without what synchronisation knows of their conversation.
extension LocalStore {
    /// Stores messages, or newer states of them, of conversations of which perhaps nothing else is known.
    package func keep(_ messages: [Message]) throws(StorageError) {
        try write { () throws(StorageError) in
            for message in messages {
                _ = try stateOrNew(message.conversationId)
                try store(alone: message)
            }
        }
    }

    /// All messages of a conversation that are in the copy, ascending.
    package func keptMessages(of id: ConversationID) throws(StorageError) -> [Message] {
        guard let state = try state(of: id) else { return [] }
        return try messagesAscending(in: state.key, from: 1, through: .max, limit: .max)
    }

    /// Takes the messages of a conversation out of the copy, on this device alone. Of a conversation that is
    /// synchronised, they are loaded again when somebody looks.
    package func forgetMessages(of id: ConversationID) throws(StorageError) {
        guard let state = try state(of: id) else { return }
        try write { () throws(StorageError) in
            try connection.run("DELETE FROM messages WHERE conversation = ?1", state.key)
            try connection.run("DELETE FROM ranges WHERE conversation = ?1", state.key)
        }
    }

    /// The messages that the server does not have yet, of all conversations, in the order of writing.
    package func unsentRows() throws(StorageError) -> [TimelineRow] {
        let own = try userId()
        return try outbox().compactMap { row in row.conversation.flatMap { row.unsent(in: $0, by: own, files) } }
    }
}
