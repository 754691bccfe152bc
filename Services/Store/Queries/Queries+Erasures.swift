import Bytes
import Models
import Postgres
import Slots
import Wire

extension Queries {
    /// Returns the highest number, and the names after a given number.
    func erasedUsers(_ query: ErasedUsersQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ErasureStatements.names) { parameters, input in
            parameters.set(input, to: query.slot, after: query.after)
        }
        let columns = ErasureStatements.names.columns
        var buffer = ByteBuffer()
        buffer.append(bigEndian: rows.first.map { $0[columns.lastNumber] } ?? 0)
        for row in rows {
            if let user = row[columns.userId] { buffer.append(user) }
        }
        return buffer.array
    }

    /// Refuses requests of an erased user about themselves, however they got past the edge.
    func refuseErased(_ user: UserID) async throws {
        let rows = try await connection.query(ErasureStatements.isErased) { $0.set($1, to: user) }
        if !rows.isEmpty { throw Problem.erasedUser }
    }
}
