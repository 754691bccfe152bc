import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

/// Whom a user has blocked: `ContractLimits.blockedUsers` at most, so there are no pages.
enum BlocksStatement {
    struct Columns: NamedFields {
        let blockedId: Column<UserID>
        let at: Column<Timestamp>
    }

    static let statement = PreparedStatement<UserInput, Columns>("blocks", PackageResources.blocks_sql, .store)
    static let columns = statement.columns
}

extension Queries {
    /// `{users: [{userId, at}]}`
    func blocks(_ query: SettingsQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let rows = try await connection.query(BlocksStatement.statement) { $0.set($1, to: query.user) }
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "users")
        buffer.beginArray()
        for row in rows {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "userId", json: row[BlocksStatement.columns.blockedId])
            buffer.append(key: "at", json: row[BlocksStatement.columns.at])
            buffer.endObject()
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }
}
