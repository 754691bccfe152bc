import Bus
import Bytes
import JSON
import Models
import Postgres
import Wire

extension Queries {
    /// `{readReceipts, presence}`
    func settings(_ query: SettingsQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let rows = try await connection.query(SettingsStatement.ofUser) { parameters in
            parameters.add(query.user)
            parameters.add(query.user.slot)
        }
        return Self.object { $0.appendFields(UserSettings(rows[0], 0)) }
    }

    /// `{readReceipts, inherited}`
    func conversationSettings(_ query: ConversationQuery) async throws -> [UInt8] {
        let rows = try await connection.query(SettingsStatement.inConversation) { parameters in
            parameters.add(query.conversation.slot)
            parameters.add(query.conversation)
            parameters.add(query.reader)
            parameters.add(query.reader.slot)
        }
        guard let row = rows.first else { throw Problem.unknownConversation }
        return Self.object { $0.appendFields(ConversationSettings(row, 0)) }
    }

    private static func object(_ fields: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.beginObject()
        fields(&buffer)
        buffer.endObject()
        return buffer.array
    }

    /// Responds with the settings in force, also when the request is repeated.
    func answerSettings(_ request: RequestKey, of user: UserID) async {
        await finish(request, for: .user(user)) { [self] in try await settings(SettingsQuery(user)) }
    }
}
