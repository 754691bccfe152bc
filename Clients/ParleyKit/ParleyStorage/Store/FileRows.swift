import Models

/// What there is of an uploaded file.
package enum FilePart: String, Hashable, Sendable {
    case content, small, large
}

/// A loaded file, or one that is being loaded.
package struct KeptFile: Hashable, Sendable {
    package var name: String
    package var isComplete: Bool
}

// Contents and thumbnails on this device: found by their ids, and gone with their message.
extension LocalStore {
    package func file(_ id: MediaID, _ part: FilePart) throws(StorageError) -> KeptFile? {
        try connection.first(
            "SELECT file, is_complete FROM files WHERE media_id = ?1 AND part = ?2 AND message IS NOT NULL", id.uuid,
            part.rawValue
        ) { KeptFile(name: $0.text(0), isComplete: $0.flag(1)) }
    }

    /// Notes that somebody looked at it: what nobody looked at for longest goes first.
    package func noteUse(of id: MediaID, _ part: FilePart, at time: Timestamp) throws(StorageError) {
        try connection.run(
            "UPDATE files SET used_at = max(used_at, ?3) WHERE media_id = ?1 AND part = ?2", id.uuid, part.rawValue,
            time)
    }

    /// Begins to load a file of a message. Returns false if the message is gone, or does not carry it.
    package func beginFile(
        _ id: MediaID, _ part: FilePart, name: String, bytes: Int64, of message: MessageID,
        in conversation: ConversationID, at time: Timestamp
    ) throws(StorageError) -> Bool {
        guard let carrier = try self.message(message, in: conversation),
            carrier.attachments?.contains(where: { $0.id == id }) ?? false
        else { return false }
        // Of a message that went, and not removed yet.
        let before = try connection.first(
            "SELECT file FROM files WHERE media_id = ?1 AND part = ?2", id.uuid, part.rawValue, read: { $0.text(0) })
        if let before { files.remove(before) }
        try connection.run(
            """
            INSERT OR REPLACE INTO files (media_id, part, message, file, bytes, used_at)
            SELECT ?1, ?2, m.key, ?3, ?4, ?7 FROM conversations c JOIN messages m ON m.conversation = c.key
            WHERE c.id = ?5 AND m.id = ?6
            """, id.uuid, part.rawValue, name, bytes, conversation, message, time)
        return true
    }

    /// The file is complete. It stays, whatever its size.
    ///
    /// - Returns: false if its message has gone meanwhile.
    package func finishFile(_ id: MediaID, _ part: FilePart, bytes: Int64) throws(StorageError) -> Bool {
        let finished = try connection.changes(
            """
            UPDATE files SET is_complete = 1, bytes = ?3 WHERE media_id = ?1 AND part = ?2 AND message IS NOT NULL
            """, id.uuid, part.rawValue, bytes)
        guard finished > 0 else { return false }
        try limitFiles(sparing: id, part)
        return true
    }

    /// Whether the files that stay are too large together. If so, those that nobody looked at for longest are to be
    /// removed, but not this one.
    func limitFiles(sparing id: MediaID? = nil, _ part: FilePart = .content) throws(StorageError) {
        guard try fileBytes() > mostFileBytes else { return }
        try connection.run(
            """
            UPDATE files SET message = NULL WHERE (media_id, part) IN (
                SELECT media_id, part FROM (
                    SELECT media_id, part, sum(bytes) OVER (
                        ORDER BY media_id IS ?1 AND part = ?2 DESC, used_at DESC, media_id, part) AS whole
                    FROM files WHERE message IS NOT NULL)
                WHERE whole > ?3 AND NOT (media_id IS ?1 AND part = ?2))
            """, id?.uuid, part.rawValue, mostFileBytes)
    }

    /// The bytes of all files that stay.
    package func fileBytes() throws(StorageError) -> Int64 {
        try connection.first("SELECT coalesce(sum(bytes), 0) FROM files WHERE message IS NOT NULL") { $0.integer(0) }
            ?? 0
    }

    /// A file that could not be completed is loaded from the beginning the next time.
    package func forgetFile(_ id: MediaID, _ part: FilePart) throws(StorageError) {
        try connection.run(
            "UPDATE files SET message = NULL WHERE media_id = ?1 AND part = ?2", id.uuid, part.rawValue)
    }

    // MARK: Removing

    package static let orphansAtOnce = 50

    /// Removes the files whose messages are gone, and then their rows, so that none is forgotten: some of them, as the
    /// disk may take its time.
    ///
    /// - Returns: how many were removed; `orphansAtOnce` if there may be more.
    @discardableResult
    package func removeOrphans() throws(StorageError) -> Int {
        let orphans = try connection.all(
            "SELECT media_id, part, file FROM files WHERE message IS NULL LIMIT ?1", Self.orphansAtOnce
        ) { (id: $0.uuid(0), part: $0.text(1), file: $0.text(2)) }
        guard !orphans.isEmpty else { return 0 }
        for orphan in orphans { files.remove(orphan.file) }
        try write { () throws(StorageError) in
            for orphan in orphans {
                try connection.run(
                    "DELETE FROM files WHERE media_id = ?1 AND part = ?2 AND file = ?3 AND message IS NULL", orphan.id,
                    orphan.part, orphan.file)
            }
        }
        return orphans.count
    }

    /// Which of these files no row has.
    package func unnamed(_ names: [String]) throws(StorageError) -> [String] {
        let known = Set(
            try connection.all("SELECT file FROM files UNION ALL SELECT file FROM uploads") { $0.text(0) })
        return names.filter { !known.contains($0) }
    }

    // MARK: Reading

    /// The files of a message that the server has.
    func attachmentRows(of message: Message) throws(StorageError) -> [AttachmentRow] {
        var rows: [AttachmentRow] = []
        for attachment in message.attachments ?? [] {
            var row = AttachmentRow(attachment: attachment, message: message.id)
            let kept = try connection.all(
                """
                SELECT part, file FROM files WHERE media_id = ?1 AND is_complete = 1 AND message IS NOT NULL
                ORDER BY part DESC
                """, attachment.id.uuid
            ) { (part: $0.text(0), file: $0.text(1)) }
            for (part, file) in kept {
                let url = files.url(file)
                if part == FilePart.content.rawValue { row.content = url } else { row.thumbnail = url }
            }
            rows.append(row)
        }
        return rows
    }

    // MARK: Limits

    package func store(mediaBytes: Int64?, repliesToAttachments: Bool) throws(StorageError) {
        try connection.run(
            "UPDATE account SET media_bytes = ?1, replies_to_attachments = ?2", mediaBytes, repliesToAttachments)
    }

    /// The size of the largest file that the server takes, as far as it is known.
    package func mediaBytes() throws(StorageError) -> Int64? {
        try connection.first("SELECT media_bytes FROM account") { $0.optional(0, $0.integer) } ?? nil
    }

    /// Whether messages with files may be replied to.
    package func repliesToAttachments() throws(StorageError) -> Bool {
        try connection.first("SELECT replies_to_attachments FROM account") { $0.flag(0) } ?? false
    }
}
