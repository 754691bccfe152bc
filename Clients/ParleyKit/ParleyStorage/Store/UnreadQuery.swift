import Models

/// What the unread messages of a conversation are counted from.
struct UnreadPosition {
    let lastSeq: Int64
    /// Up to here the user has read, or cleared.
    let seen: Int64
    /// The server's count, of the messages after `after`, as it was at `seq`.
    let count: Int
    let seq: Int64
    let after: Int64
    /// The server's count of those of them that mention the user.
    let mentions: Int
}

/// The unread messages of a conversation, and those of them that mention the user.
package struct UnreadCount: Hashable, Sendable {
    package var messages: Int
    package var mentions: Int
}

/// What is counted of the unread messages.
enum UnreadPart {
    case all, mentions

    /// Those of the server's count that are not counted any more.
    fileprivate var gone: StaticString {
        switch self {
        case .all:
            """
            SELECT count(*) FROM (
                SELECT 1 FROM messages m
                WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND kind IN ('text', 'reply', 'sealed', 'poll')
                    AND sender_id <> (SELECT coalesce(user_id, '') FROM account)
                    AND CASE WHEN deleted_at IS NULL
                        THEN seq <= ?4 OR NOT EXISTS (SELECT 1 FROM shown_messages s WHERE s.key = m.key)
                        ELSE change_seq > ?3 OR is_expired = 2 END
                LIMIT ?5)
            """
        case .mentions:
            """
            SELECT count(*) FROM (
                SELECT 1 FROM messages m
                WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND mentions_user = 1
                    AND CASE WHEN deleted_at IS NULL
                        THEN seq <= ?4 OR NOT EXISTS (SELECT 1 FROM shown_messages s WHERE s.key = m.key)
                        ELSE change_seq > ?3 OR is_expired = 2 END
                LIMIT ?5)
            """
        }
    }

    fileprivate var stored: StaticString {
        switch self {
        case .all:
            """
            SELECT count(*) FROM (
                SELECT 1 FROM shown_messages
                WHERE conversation = ?1 AND seq > ?2 AND kind IN ('text', 'reply', 'sealed', 'poll') AND deleted_at IS NULL
                    AND sender_id <> (SELECT coalesce(user_id, '') FROM account)
                LIMIT ?3)
            """
        case .mentions:
            """
            SELECT count(*) FROM (
                SELECT 1 FROM shown_messages
                WHERE conversation = ?1 AND seq > ?2 AND deleted_at IS NULL AND mentions_user = 1
                LIMIT ?3)
            """
        }
    }
}

extension LocalStore {
    /// As many are counted; a hundred may be more.
    private static let mostUnread = 100

    func unreadPosition(in key: Int64) throws(StorageError) -> UnreadPosition? {
        try connection.first(
            """
            SELECT last_seq, max(read_seq, cleared_seq), unread_count, unread_seq, unread_after, unread_mentions
            FROM conversations WHERE key = ?1
            """, key
        ) { row in
            UnreadPosition(
                lastSeq: row.integer(0), seen: row.integer(1), count: Int(row.integer(2)), seq: row.integer(3),
                after: row.integer(4), mentions: Int(row.integer(5)))
        }
    }

    func unreadCount(in key: Int64) throws(StorageError) -> Int {
        guard let position = try unreadPosition(in: key) else { return 0 }
        return try unreadCount(position, in: key)
    }

    /// The unread messages, counted in the copy where it has them all. Where it has not, the server's count stands, less
    /// what was read since and is in the copy, what was deleted for everyone since, and what of it is known to be not shown,
    /// and the messages after it are added.
    func unreadCount(
        _ position: UnreadPosition, of part: UnreadPart = .all, in key: Int64
    ) throws(StorageError) -> Int {
        let seen = position.seen
        guard seen < position.lastSeq else { return 0 }
        let isWhole = try range(at: seen + 1, in: key).map { $0.upperBound >= position.lastSeq } ?? false
        let isTold = !isWhole && seen < position.seq
        let told = isTold ? min(try told(position, part, in: key), Int(clamping: position.seq - seen)) : 0
        let after = isTold ? position.seq : seen
        guard told < Self.mostUnread, after < position.lastSeq else { return min(told, Self.mostUnread) }
        return min(Self.mostUnread, told + (try stored(part, after: after, in: key)))
    }

    /// What is left of the server's count.
    private func told(_ position: UnreadPosition, _ part: UnreadPart, in key: Int64) throws(StorageError) -> Int {
        let count = part == .all ? position.count : position.mentions
        guard 1..<Self.mostUnread ~= count else { return count }
        let hasRead = try range(at: position.after + 1, in: key).map { $0.upperBound >= position.seen } ?? false
        // A message that is deleted does not change any more. What this device has found to be over, the server counted.
        let gone = try connection.first(
            part.gone, key, hasRead ? position.after : position.seen, position.seq, position.seen, Self.mostUnread
        ) { Int($0.integer(0)) }
        return max(0, count - (gone ?? 0))
    }

    private func stored(_ part: UnreadPart, after seq: Int64, in key: Int64) throws(StorageError) -> Int {
        try connection.first(
            part.stored, key, seq, Self.mostUnread
        ) { Int($0.integer(0)) } ?? 0
    }

    private func unread(in key: Int64) throws(StorageError) -> UnreadCount {
        guard let position = try unreadPosition(in: key) else { return UnreadCount(messages: 0, mentions: 0) }
        let messages = try unreadCount(position, in: key)
        return UnreadCount(
            messages: messages, mentions: min(messages, try unreadCount(position, of: .mentions, in: key)))
    }

    /// The conversations that are unread, and how many messages are; none in one that is only marked. Without those that are
    /// muted or archived.
    package func unreadCounts(at now: Timestamp) throws(StorageError) -> [ConversationID: UnreadCount] {
        let unread = try connection.all(
            """
            SELECT key, id, is_marked_unread FROM conversations
            WHERE head_seq > 0 AND (is_marked_unread = 1 OR last_seq > max(read_seq, cleared_seq))
                AND coalesce(muted_until <= ?1, 1)
                AND key NOT IN (SELECT u.key FROM unlisted_conversations u)
                AND key NOT IN (SELECT a.key FROM archived_conversations a WHERE a.is_quiet OR a.muted_until > ?1)
            """, now
        ) { (key: $0.integer(0), id: ConversationID($0.uuid(1)), isMarked: $0.flag(2)) }
        var counts: [ConversationID: UnreadCount] = [:]
        for (key, id, isMarked) in unread {
            let count = try self.unread(in: key)
            if count.messages > 0 || isMarked { counts[id] = count }
        }
        return counts
    }

    /// The unread messages of one conversation; nil if it does not count.
    package func unreadCount(of id: ConversationID, at now: Timestamp) throws(StorageError) -> UnreadCount? {
        let unread = try connection.first(
            """
            SELECT key, is_marked_unread FROM conversations
            WHERE id = ?2 AND head_seq > 0 AND (is_marked_unread = 1 OR last_seq > max(read_seq, cleared_seq))
                AND coalesce(muted_until <= ?1, 1)
                AND key NOT IN (SELECT u.key FROM unlisted_conversations u)
                AND key NOT IN (SELECT a.key FROM archived_conversations a WHERE a.is_quiet OR a.muted_until > ?1)
            """, now, id
        ) { (key: $0.integer(0), isMarked: $0.flag(1)) }
        guard let unread else { return nil }
        let count = try self.unread(in: unread.key)
        return count.messages > 0 || unread.isMarked ? count : nil
    }
}
