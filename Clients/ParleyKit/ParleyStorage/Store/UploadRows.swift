import Models

/// An upload as the engine sees it: a file of a message that waits, or one that is to be taken back.
package struct Upload: Hashable, Sendable {
    package var file: OutgoingFile
    /// Nil if its message was taken back.
    package var conversation: ConversationID?

    package init(file: OutgoingFile, conversation: ConversationID?) {
        self.file = file
        self.conversation = conversation
    }

    package var isTakenBack: Bool { conversation == nil }
}

/// What the server said of an upload.
package enum UploadWrite: Hashable, Sendable {
    case created(MediaID)
    case acknowledged(bytes: Int64)
    case ready(Attachment)
    /// The server has nothing of it any more: it begins anew.
    case lost
    /// The message fails.
    case refused(ProblemDetails)
    /// It was taken back.
    case removed
}

extension LocalStore {
    private static func file(_ row: Row) -> OutgoingFile? {
        guard let attachment = row.text(2).decoded(as: Attachment.self) else { return nil }
        return OutgoingFile(
            key: row.integer(0), file: row.text(1), attachment: attachment, size: row.integer(3),
            mediaId: row.optional(4, row.uuid).map(MediaID.init), sentBytes: row.integer(5), isReady: row.flag(6))
    }

    // MARK: Files of the outbox

    func store(_ files: [CopiedFile], ofRow key: Int64) throws(StorageError) {
        for (position, file) in files.enumerated() {
            try connection.run(
                "INSERT INTO uploads (outbox_key, position, file, attachment, size) VALUES (?1, ?2, ?3, ?4, ?5)",
                key, position, file.name, String(json: file.attachment), file.size)
        }
    }

    func withFiles(_ rows: [OutboxRow]) throws(StorageError) -> [OutboxRow] {
        var rows = rows
        for index in rows.indices where rows[index].fileCount > 0 {
            rows[index].files = try connection.all(
                """
                SELECT u.key, u.file, u.attachment, u.size, u.media_id, u.sent_bytes, u.is_ready FROM uploads u
                WHERE u.outbox_key = ?1 ORDER BY u.position
                """, rows[index].key, read: Self.file
            ).compactMap(\.self)
        }
        return rows
    }

    /// The server has the message: what was sent stays on the device, as files of the message.
    func keepFiles(ofRow key: Int64, at time: Timestamp) throws(StorageError) {
        try connection.run(
            """
            INSERT OR IGNORE INTO files (media_id, part, message, file, bytes, is_complete, used_at)
            SELECT u.media_id, 'content', (
                    SELECT m.key FROM outbox o JOIN conversations c ON c.id = o.conversation_id
                        JOIN messages m ON m.conversation = c.key AND m.id = o.message_id
                    WHERE o.key = u.outbox_key AND m.deleted_at IS NULL),
                u.file, u.size, 1, ?2
            FROM uploads u WHERE u.outbox_key = ?1 AND u.media_id IS NOT NULL
            """, key, time)
        try connection.run("DELETE FROM uploads WHERE outbox_key = ?1", key)
        try limitFiles()
    }

    /// A message was refused, perhaps because a file of it is gone from the server: all of them are looked at once more. Until
    /// it is sent again, the server does not know it. Returns false if that was done already.
    func checkFiles(of row: OutboxRow, after problem: ProblemDetails) throws(StorageError) -> Bool {
        guard row.fileCount > 0, problem.code == .known(.notFound) || problem.code == .known(.mediaNotReady) else {
            return false
        }
        let looked = try connection.changes(
            "UPDATE uploads SET is_ready = 0, was_checked = 1 WHERE outbox_key = ?1 AND was_checked = 0", row.key)
        guard looked > 0 else { return false }
        try connection.run("UPDATE outbox SET was_tried = 0 WHERE key = ?1", row.key)
        return true
    }

    /// The user sends a message again: its files are looked at as the first time.
    func recheckFiles(ofRow key: Int64) throws(StorageError) {
        try connection.run("UPDATE uploads SET was_checked = 0 WHERE outbox_key = ?1", key)
    }

    // MARK: Uploading

    /// What is to be uploaded, in the order of writing, and then what is to be taken back.
    package func uploads(limit: Int) throws(StorageError) -> [Upload] {
        try connection.all(
            """
            SELECT u.key, u.file, u.attachment, u.size, u.media_id, u.sent_bytes, u.is_ready, o.conversation_id
            FROM uploads u LEFT JOIN outbox o ON o.key = u.outbox_key
            WHERE u.outbox_key IS NULL OR (o.state = 0 AND u.is_ready = 0)
            ORDER BY u.outbox_key IS NULL, u.outbox_key, u.position LIMIT ?1
            """, limit
        ) { row in
            Self.file(row).map { Upload(file: $0, conversation: row.optional(7, row.uuid).map(ConversationID.init)) }
        }.compactMap(\.self)
    }

    package func apply(_ write: UploadWrite, to key: Int64) throws(StorageError) {
        switch write {
        case .created(let id):
            try connection.run("UPDATE uploads SET media_id = ?2, sent_bytes = 0 WHERE key = ?1", key, id.uuid)
        case .acknowledged(let bytes):
            try connection.run("UPDATE uploads SET sent_bytes = ?2 WHERE key = ?1", key, bytes)
        case .ready(let attachment):
            try connection.run(
                "UPDATE uploads SET is_ready = 1, sent_bytes = size, attachment = ?2 WHERE key = ?1", key,
                String(json: attachment))
        case .lost:
            try connection.run(
                """
                UPDATE uploads SET media_id = NULL, sent_bytes = 0, is_ready = 0, was_checked = 0 WHERE key = ?1
                """, key)
        case .refused(let problem):
            // If the user sends the message again, this file begins anew, and the others go on where they are.
            try connection.run("UPDATE uploads SET media_id = NULL, sent_bytes = 0 WHERE key = ?1", key)
            try refuse(key, problem)
        case .removed: try connection.run("DELETE FROM uploads WHERE key = ?1 AND outbox_key IS NULL", key)
        }
    }

    private func refuse(_ key: Int64, _ problem: ProblemDetails) throws(StorageError) {
        let row = try connection.first(
            "SELECT o.* FROM outbox o JOIN uploads u ON u.outbox_key = o.key WHERE u.key = ?1 AND o.state = 0", key,
            read: Self.outboxRow)
        if let row = row ?? nil { try refuse(row, problem) }
    }

    /// How far the files of a conversation's messages are.
    package func uploadProgress(in id: ConversationID) throws(StorageError) -> [MessageID: UploadProgress] {
        let rows = try connection.all(
            """
            SELECT o.message_id, sum(u.sent_bytes), sum(u.size) FROM outbox o JOIN uploads u ON u.outbox_key = o.key
            WHERE o.conversation_id = ?1 GROUP BY o.key
            """, id
        ) { row in
            (MessageID(row.uuid(0)), UploadProgress(sentBytes: row.integer(1), totalBytes: row.integer(2)))
        }
        return Dictionary(rows) { $1 }
    }
}

extension OutgoingFile {
    /// As the timeline shows it.
    func row(of message: MessageID, in folder: FileFolder) -> AttachmentRow {
        let state: AttachmentRow.State =
            isReady ? .uploaded : mediaId != nil && sentBytes == size ? .processing : .uploading
        return AttachmentRow(attachment: attachment, message: message, content: folder.url(file), state: state)
    }
}
