import Bytes
import Models
import Postgres
import Wire

/// What a reader may forward of a message.
enum ForwardSourceStatement {
    struct Columns: NamedFields {
        let isForwardable: Column<Bool>
        let body: Column<UnsafeRawBufferPointer?>
        let media: Column<String?>
        let userId: Column<UserID>
        let sentAt: Column<Timestamp>
    }

    static let statement = PreparedStatement<MessageInput, Columns>(
        "forward_source", PackageResources.forward_source_sql, .store)
}

extension Queries {
    /// `ForwardSource`
    func forwardSource(_ query: MessageQuery) async throws -> [UInt8] {
        let statement = ForwardSourceStatement.statement, columns = statement.columns
        let rows = try await connection.query(statement, .light) { $0.set($1, to: query) }
        defer { extendLifetime(rows) }  // The text points into them.
        var buffer = ByteBuffer()
        if let row = rows.first {
            if row[columns.isForwardable], let body = row[columns.body] {
                let origin = Forwarded(userId: row[columns.userId], sentAt: row[columns.sentAt])
                ForwardSource.found(origin, text: body, media: MediaID.list(row[columns.media])).write(to: &buffer)
            } else {
                ForwardSource.problem(.notForwardable).write(to: &buffer)
            }
        } else {
            ForwardSource.problem(.notFound).write(to: &buffer)
        }
        return buffer.array
    }
}
