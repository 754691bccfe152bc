import Models
import Postgres
import Wire

/// A message and its reader.
struct MessageInput: NamedFields {
    let head: ReaderInput
    let message: Parameter<MessageID>
}

/// A page of users that have something to do with a message.
struct MessagePageInput: NamedFields {
    let message: MessageInput
    let after: Parameter<String>
    let limit: Parameter<Int64>
}

extension Parameters {
    mutating func set(_ input: MessageInput, to query: MessageQuery) {
        set(input.head, to: query.head)
        set(input.message, to: query.message)
    }

    mutating func set(_ input: MessagePageInput, to query: AfterUserQuery) {
        set(input.message, to: query.message)
        set(input.after, to: query.after)
        // One more row shows whether there are more.
        set(input.limit, to: Int64(query.limit) + 1)
    }
}

/// One message as its reader sees it.
enum MessageStatement {
    typealias Single = PreparedStatement<MessageInput, MessageWithParentColumns>

    static let statement = Single("message", PackageResources.message_sql, .store)

    /// For a user who changed it.
    static let ofWriter = Single("message_of_writer", PackageResources.message_of_writer_sql, .store)
}
