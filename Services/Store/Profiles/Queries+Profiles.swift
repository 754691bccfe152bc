import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

extension Queries {
    /// `{profiles: [{userId, version, displayName?, avatarUrl?, extra?}]}`
    func profiles(_ query: ProfilesQuery) async throws -> [UInt8] {
        try await refuseErased(query.reader)
        let rows = try await rows(of: query)
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "profiles")
        buffer.beginArray()
        for row in rows {
            buffer.beginElement()
            buffer.append(profile: row)
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }

    /// A user's own profile, for the response to its change.
    func ownProfile(_ user: UserID) async throws -> [UInt8] {
        try await refuseErased(user)
        var buffer = ByteBuffer()
        if let row = try await rows(of: ProfilesQuery(reader: user, [ProfilesQuery.Item(user)])).first {
            buffer.append(profile: row)
        } else {
            buffer.beginObject()
            buffer.append(key: "userId", json: user)
            buffer.append(key: "version", json: 0)
            buffer.endObject()
        }
        return buffer.array
    }

    private func rows(of query: ProfilesQuery) async throws -> Rows {
        try await connection.query(ProfileStatements.profiles) { parameters, input in
            parameters.set(input.reader, to: query.reader)
            parameters.set(input.readsAll, to: query.readsAll)
            parameters.set(input.users, to: query.items.map(\.user))
            parameters.set(input.versions, to: query.items.lazy.map(\.version))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(profile row: Row) {
        let columns = ProfileStatements.profiles.columns
        beginObject()
        append(key: "userId", json: row[columns.userId])
        append(key: "version", json: row[columns.version])
        append(key: "displayName", json: row[columns.displayName])
        append(key: "avatarUrl", json: row[columns.avatarUrl])
        if let extra = row[columns.extra] {
            // Checked by ingest, and stored as it came.
            append(key: "extra")
            append(utf8: extra)
        }
        endObject()
    }
}
