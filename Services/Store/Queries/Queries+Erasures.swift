import Bytes
import Models
import Postgres
import Wire

extension Queries {
    /// Returns the highest number, and the names after a given number.
    func erasedUsers(_ query: ErasedUsersQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ErasureStatements.names) { parameters in
            parameters.add(query.slot)
            parameters.add(query.after)
        }
        var buffer = ByteBuffer()
        buffer.append(bigEndian: rows.first.map { $0[0] as Int64 } ?? 0)
        for row in rows where !row.isNull(1) { buffer.append(row[1] as UserID) }
        return buffer.array
    }

    /// Refuses requests of an erased user about themselves, however they got past the edge.
    func refuseErased(_ user: UserID) async throws {
        let rows = try await connection.query(ErasureStatements.isErased) { ErasureStatements.add(user, to: &$0) }
        if !rows.isEmpty { throw Problem.erasedUser }
    }
}
