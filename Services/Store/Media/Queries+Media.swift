import Models
import Postgres
import Wire

extension Queries {
    /// Whether a user sees a message and it carries a file: 1 or 0, in one byte.
    func mayReadAttachment(_ query: MayReadAttachment) async throws -> [UInt8] {
        let rows: Rows
        if let reader = query.reader {
            let head = ConversationQuery(query.conversation, reader: reader)
            rows = try await connection.query(MediaStatements.mayRead, .light) { parameters, input in
                parameters.set(input.message, to: MessageQuery(head, message: query.message))
                parameters.set(input.sender, to: query.sender)
                parameters.set(input.media, to: query.media.description)
            }
        } else {
            rows = try await connection.query(MediaStatements.carries, .light) { parameters, input in
                parameters.set(input.key, to: query.conversation)
                parameters.set(input.message, to: query.message)
                parameters.set(input.sender, to: query.sender)
                parameters.set(input.media, to: query.media.description)
            }
        }
        let column = MediaStatements.mayRead.columns.mayRead
        return [rows.first?[column] == true ? 1 : 0]
    }
}
