/// A step from one version of the local database to the next. A released one is never changed.
struct Migration {
    let version: Int64
    let script: String

    /// In order, from version 1.
    static let all = [
        schema1, schema2, schema3, schema4, schema5, schema6, schema7, schema8, schema9, schema10,
        schema11, schema12, schema13, schema14, schema15, schema16, schema17, schema18, schema19, schema20,
    ].enumerated().map { Migration(version: Int64($0) + 1, script: $1) }

    static var latestVersion: Int64 { Int64(all.count) }
}

extension Connection {
    /// Brings the database to the latest version, each step in a transaction of its own.
    ///
    /// - Parameter latest: another version to end at, for tests of later steps.
    func migrate(to latest: Int64 = Migration.latestVersion) throws(StorageError) {
        let version = try schemaVersion()
        guard version <= Migration.latestVersion else {
            throw StorageError(reason: .newerVersion, description: "the database has version \(version)")
        }
        for migration in Migration.all where migration.version > version && migration.version <= latest {
            try write { () throws(StorageError) in
                // Another process may have taken the step while this one waited to write.
                guard try schemaVersion() < migration.version else { return }
                try execute(migration.script)
                try execute("PRAGMA user_version = \(migration.version)")
            }
        }
    }

    func schemaVersion() throws(StorageError) -> Int64 {
        try first("PRAGMA user_version") { $0.integer(0) } ?? 0
    }
}
