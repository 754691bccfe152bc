import Bytes
import Models
import Postgres
import Slots
import Wire

/// Which messages are stored already.
enum WrittenMessagesStatement {
    struct Input: NamedFields {
        let key: ConversationInput
        let sender: Parameter<UserID>
        let ids: Parameter<[MessageID]>
        let texts: Parameter<[String]>
    }

    struct Columns: NamedFields {
        let isInConversation: Column<Bool>
        let written: Column<[Int64]>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "written_messages", PackageResources.written_messages_sql, .store)
}

extension Queries {
    /// `WrittenMessages.Answer`
    func writtenMessages(_ query: WrittenMessages) async throws -> [UInt8] {
        let statement = WrittenMessagesStatement.statement
        let rows = try await connection.query(statement, .light) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.sender, to: query.sender)
            parameters.set(input.ids, to: query.messages.map(\.id))
            parameters.set(input.texts, to: query.messages.map(\.text))
        }
        guard let row = rows.first else { preconditionFailure("the statement returns a row") }
        var answer = WrittenMessages.Answer(
            isInConversation: row[statement.columns.isInConversation],
            areWritten: query.messages.map { _ in false })
        for place in row[statement.columns.written] { answer.areWritten[Int(place) - 1] = true }
        var buffer = ByteBuffer()
        answer.write(to: &buffer)
        return buffer.array
    }
}
