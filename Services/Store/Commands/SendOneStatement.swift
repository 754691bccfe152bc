import Models
import Postgres
import Slots
import Wire

/// Stores a run of one message that has nothing but a text, which is the usual run under low load.
enum SendOneStatement {
    struct Input: NamedFields {
        let key: ConversationInput
        let id: Parameter<MessageID>
        let sender: Parameter<UserID>
        let text: Parameter<UnsafeRawBufferPointer>
        let sentAt: Parameter<Timestamp>
    }

    static let statement = PreparedStatement<Input, SendStatement.Columns>(
        "send_message", PackageResources.send_message_sql, .store)

    static func fits(_ items: ArraySlice<SendItem>) -> Bool {
        guard items.count == 1, let message = items.first?.message else { return false }
        return message.replyTo == nil && message.mentions.isEmpty && message.extra.isEmpty && !message.isSealed
    }

    static func add(to batch: inout Batch, _ item: SendItem) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.key, to: item.conversation)
            parameters.set(input.id, to: item.message.id)
            parameters.set(input.sender, to: item.sender)
            parameters.set(input.text, to: item.message.text)
            parameters.set(input.sentAt, to: item.message.sentAt)
        }
    }
}
