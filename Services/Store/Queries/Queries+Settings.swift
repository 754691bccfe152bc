import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

extension Queries {
    /// `{readReceipts, presence}`
    func settings(_ query: SettingsQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let statement = SettingsStatement.ofUser
        let rows = try await connection.query(statement) { $0.set($1, to: query.user) }
        return Self.object { $0.appendFields(UserSettings(rows[0], statement.columns)) }
    }

    /// `{readReceipts, inherited}`
    func conversationSettings(_ query: ConversationQuery) async throws -> [UInt8] {
        let statement = SettingsStatement.inConversation
        let rows = try await connection.query(statement) { parameters, input in
            parameters.set(input.key, to: query.conversation)
            parameters.set(input.user, to: query.reader)
        }
        guard let row = rows.first else { throw Problem.unknownConversation }
        return Self.object { $0.appendFields(ConversationSettings(row, statement.columns)) }
    }

    private static func object(_ fields: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.beginObject()
        fields(&buffer)
        buffer.endObject()
        return buffer.array
    }
}
