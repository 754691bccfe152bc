import Foundation
import Models

/// What people are called, as far as the copy knows.
public struct UserNames: Hashable, Sendable {
    private let names: [UserID: String]

    public init(_ names: [UserID: String] = [:]) { self.names = names }

    /// The name in somebody's profile, or their id if there is none, or none is known.
    ///
    /// Anybody may choose any name: show the id beside it where somebody could be taken for somebody else.
    public subscript(user: UserID) -> String { names[user] ?? user.name }

    /// Nil if there is none, or none is known.
    public func name(of user: UserID) -> String? { names[user] }
}

extension LocalStore {
    /// More are not kept: then those who are shown are asked for anew.
    static let mostProfiles = 5_000

    package func userNames() throws(StorageError) -> UserNames {
        let rows = try connection.all(
            "SELECT user_id, display_name FROM profiles WHERE display_name IS NOT NULL"
        ) { ($0.user(0), $0.text(1)) }
        return UserNames(Dictionary(uniqueKeysWithValues: rows))
    }

    /// Nil if there is none that the user may read, or none is known.
    package func profile(of user: UserID) throws(StorageError) -> Profile? {
        try connection.first(
            "SELECT version, display_name, avatar_url, extra FROM profiles WHERE user_id = ?1", user
        ) { row in
            let extra = row.optional(3, row.text).flatMap { text in
                try? JSONDecoder().decode([String: JSONValue].self, from: Data(text.utf8))
            }
            return Profile(
                userId: user, version: row.integer(0), displayName: row.optional(1, row.text),
                avatarUrl: row.optional(2, row.text), extra: extra)
        }
    }

    /// The versions that the copy has; 0: none.
    package func profileVersions(of users: [UserID]) throws(StorageError) -> [Int64] {
        var versions: [Int64] = []
        for user in users {
            let version = try connection.first("SELECT version FROM profiles WHERE user_id = ?1", user) {
                $0.integer(0)
            }
            versions.append(version ?? 0)
        }
        return versions
    }

    /// Version 0: there is none that the user may read. A lower version than the stored one was read before it.
    func storeProfiles(_ profiles: [Profile]) throws(StorageError) {
        for profile in profiles {
            guard profile.version > 0 else {
                try connection.run("DELETE FROM profiles WHERE user_id = ?1", profile.userId)
                continue
            }
            try connection.run(
                """
                INSERT INTO profiles (user_id, version, display_name, avatar_url, extra) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (user_id) DO UPDATE SET
                    version = excluded.version, display_name = excluded.display_name,
                    avatar_url = excluded.avatar_url, extra = excluded.extra
                WHERE excluded.version >= version
                """, profile.userId, profile.version, profile.displayName, profile.avatarUrl,
                profile.extra.map { String(json: $0) })
        }
    }

    /// With each session: that is often enough for what grows by what a user looks at.
    func boundProfiles() throws(StorageError) {
        let count = try connection.first("SELECT count(*) FROM profiles") { $0.integer(0) } ?? 0
        if count > Self.mostProfiles { try connection.run("DELETE FROM profiles") }
    }
}
