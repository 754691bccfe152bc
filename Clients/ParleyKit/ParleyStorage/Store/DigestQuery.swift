import Models
import ParleyDigest

/// A part of a copy that differs from the server's, or is the same.
package enum DigestComparison: Hashable, Sendable {
    /// The copy is at other positions than the digest, or lacks messages of the page: nothing can be said.
    case notComparable
    case equal
    case different
}

extension LocalStore {
    /// Compares how the messages created at a page's positions read: *Comparing copies* in the API guide.
    ///
    /// - Parameters:
    ///   - lastSeq: the position of the conversation at which the digest is exact.
    ///   - useq: that of the private stream.
    package func compare(
        _ page: HistoryDigest.Page, of id: ConversationID, lastSeq: Int64, useq: Int64
    ) throws(StorageError) -> DigestComparison {
        guard let state = try state(of: id), state.cursor == lastSeq,
            try syncPositionOfPrivateStream() == useq,
            try range(at: page.fromSeq, in: state.key).map({ $0.upperBound >= page.toSeq }) ?? false
        else { return .notComparable }
        return try digest(of: page.fromSeq...page.toSeq, in: state.key) == page.state ? .equal : .different
    }

    private func syncPositionOfPrivateStream() throws(StorageError) -> Int64? {
        try connection.first("SELECT useq FROM account") { $0.optional(0, $0.integer) } ?? nil
    }

    /// The digest `state` of the messages created at these positions.
    package func digest(of range: ClosedRange<Int64>, in id: ConversationID) throws(StorageError) -> String? {
        guard let state = try state(of: id) else { return nil }
        return try digest(of: range, in: state.key)
    }

    private func digest(of range: ClosedRange<Int64>, in conversation: Int64) throws(StorageError) -> String {
        var hash = SHA256Text()
        let lines = try connection.all(
            """
            SELECT seq, id, sender_id, parent_id, edited_at, mentions, tapback_counts, coalesce(text, sealed), poll
            FROM messages
            WHERE conversation = ?1 AND seq BETWEEN ?2 AND ?3 AND kind IN ('text', 'reply', 'sealed', 'poll') ORDER BY seq
            """, conversation, range.lowerBound, range.upperBound, read: Self.digestLine)
        for line in lines { hash.update(line) }
        return hash.finish()
    }

    private static func digestLine(_ row: Row) -> String {
        var fields = [
            "\(row.integer(0))", row.uuid(1).description, row.text(2),
            row.optional(3, row.uuid)?.description ?? "-", row.optional(4, row.time)?.description ?? "-",
            row.optional(5, row.text) ?? "-", row.optional(6, row.text) ?? "-",
            row.optional(7, row.text).map(SHA256Text.of) ?? "-",
        ]
        if let poll = row.optional(8, row.text)?.decoded(as: Poll.self) { fields.append(poll.digested) }
        return fields.joined(separator: " ") + "\n"
    }
}
