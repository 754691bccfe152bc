import Foundation
import Models

/// What opening a copy took.
package struct OpenedStore {
    package let store: LocalStore
    /// Where a file that could not be read was set aside; nil in the usual case.
    package let setAside: String?
    /// How many rows of its outbox, drafts among them, were saved from it.
    package let salvaged: Int
}

extension LocalStore {
    /// Opens the copy. A file that is damaged is set aside, never deleted: what the user had not sent yet is taken over
    /// from it as far as it can be read, and everything else is loaded from the server again.
    package static func open(path: String) throws(StorageError) -> OpenedStore {
        do {
            let store = try LocalStore(path: path)
            try store.check()
            return OpenedStore(store: store, setAside: nil, salvaged: 0)
        } catch {
            guard error.reason == .unreadable else { throw error }
        }
        let aside = try setAside(path)
        let store = try LocalStore(path: path)
        return OpenedStore(store: store, setAside: aside, salvaged: try store.salvage(from: aside))
    }

    /// Reads a little of everything that must be there.
    private func check() throws(StorageError) {
        do {
            _ = try syncPosition()
            _ = try conversations(limit: 1)
            _ = try outbox()
        } catch  where error.reason == .other {
            throw StorageError(reason: .unreadable, code: error.code, description: error.description)
        }
    }

    private static func setAside(_ path: String) throws(StorageError) -> String {
        let files = FileManager.default
        let free = (1...).first { !files.fileExists(atPath: path + asideMark + "\($0)") }!
        let aside = path + asideMark + "\(free)"
        // The log goes with its database: what is not in the file yet can be read there.
        for suffix in parts.reversed() where files.fileExists(atPath: path + suffix) {
            do {
                try files.moveItem(atPath: path + suffix, toPath: aside + suffix)
            } catch {
                throw StorageError(reason: .readOnly, description: "the damaged database cannot be set aside: \(error)")
            }
        }
        return aside
    }

    private static let parts = ["", "-wal", "-shm"]

    /// Behind the name of a damaged database; its number follows.
    private static let asideMark = ".unreadable-"

    /// The damaged databases that were set aside, with their logs.
    private static func filesAside(_ path: String) throws -> [String] {
        let database = URL(fileURLWithPath: path)
        let folder = database.deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasPrefix(database.lastPathComponent + asideMark) }
            .map { folder + "/" + $0 }
    }

    /// Takes the outbox and the drafts over, and whose they are.
    private func salvage(from path: String) throws(StorageError) -> Int {
        guard let damaged = try? Connection(path: path) else { return 0 }
        // Reads on where a part of the schema is damaged.
        try? damaged.execute("PRAGMA writable_schema = ON")
        let rows = Self.salvagedRows(damaged)
        let uploads = Self.salvagedUploads(damaged)
        let user: UserID? = (try? damaged.first("SELECT user_id FROM account") { UserID($0.text(0)) }) ?? nil
        // Until version 8 they were not rows of the outbox.
        let drafts =
            (try? damaged.all("SELECT conversation_id, text, parent_id, at FROM drafts") { row in
                (
                    ConversationID(row.uuid(0)),
                    Draft(text: row.text(1), replyTo: row.optional(2, row.uuid).map(MessageID.init)), row.time(3)
                )
            }) ?? []
        try write { () throws(StorageError) in
            if let user { try connection.run("UPDATE account SET user_id = ?1", user) }
            for row in rows { try insert(row) }
            for upload in uploads { try insert(upload, of: rows) }
            try failWithoutFiles(rows)
            for (conversation, draft, at) in drafts {
                // A draft is put without a key.
                try setDraft(draft, in: conversation, at: at, key: .zero)
            }
        }
        return rows.count + drafts.count
    }

    /// Row by row from both ends: one damaged page takes only its own rows.
    private static func salvagedRows(_ damaged: Connection) -> [OutboxRow] {
        var rows: [Int64: OutboxRow] = [:]
        var last: Int64 = 0
        while let found = try? damaged.first(
            "SELECT * FROM outbox WHERE key > ?1 ORDER BY key LIMIT 1", last, read: { ($0.integer(0), outboxRow($0)) })
        {
            last = found.0
            rows[last] = found.1
        }
        var first = Int64.max
        while let found = try? damaged.first(
            "SELECT * FROM outbox WHERE key < ?1 ORDER BY key DESC LIMIT 1", first,
            read: { ($0.integer(0), outboxRow($0)) }), found.0 > last
        {
            first = found.0
            rows[first] = found.1
        }
        return rows.values.sorted { $0.key < $1.key }
    }

    private func insert(_ row: OutboxRow) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO outbox (
                key, conversation_id, message_id, kind, write, idempotency_key, state, was_tried, problem, at, files)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """, row.key, row.conversation, row.message, row.write.kind, String(json: row.write), row.idempotencyKey,
            row.state.rawValue, row.wasTried, row.problem.map { String(json: $0) }, row.at,
            row.fileCount)
    }

    /// What the outbox's messages carry; the server is asked how much of it it has.
    private struct SalvagedUpload {
        let row: Int64
        let position: Int64
        let file: String
        let attachment: String
        let size: Int64
        let mediaId: UUIDBytes?
    }

    private static func salvagedUploads(_ damaged: Connection) -> [SalvagedUpload] {
        let uploads = try? damaged.all(
            "SELECT outbox_key, position, file, attachment, size, media_id FROM uploads WHERE outbox_key IS NOT NULL"
        ) { row in
            SalvagedUpload(
                row: row.integer(0), position: row.integer(1), file: row.text(2), attachment: row.text(3),
                size: row.integer(4), mediaId: row.optional(5, row.uuid))
        }
        return uploads ?? []
    }

    private func insert(_ upload: SalvagedUpload, of rows: [OutboxRow]) throws(StorageError) {
        guard rows.contains(where: { $0.key == upload.row }) else { return }
        try connection.run(
            """
            INSERT INTO uploads (outbox_key, position, file, attachment, size, media_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, upload.row, upload.position, upload.file, upload.attachment, upload.size, upload.mediaId)
    }

    /// A message whose files were lost is not sent without them.
    private func failWithoutFiles(_ rows: [OutboxRow]) throws(StorageError) {
        let lost = ProblemDetails(Problem(.notFound, "a file of the message was lost with the damaged database"))
        for row in try withFiles(rows) where row.files.count < row.fileCount {
            try connection.run(
                "UPDATE outbox SET state = 1, problem = ?2 WHERE key = ?1", row.key, String(json: lost))
        }
    }

    /// Removes the copy from the device, with its files and what was set aside of it, when the user signs out.
    package static func erase(path: String) throws {
        // The database last: as long as it is there, its user is to be signed out.
        try FileFolder(ofDatabase: path).removeAll()
        for file in try filesAside(path) { try FileManager.default.removeItem(atPath: file) }
        for suffix in parts where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }
}
