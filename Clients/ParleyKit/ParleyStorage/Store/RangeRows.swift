import Models

// Which positions the copy has every message of.

extension LocalStore {
    /// Adds positions that changes have brought, except those of which the user may have hidden the message meanwhile.
    func cover(_ changes: ClosedRange<Int64>, in state: ConversationState) throws(StorageError) {
        guard changes.upperBound > state.unsureThrough else { return }
        try cover(max(changes.lowerBound, state.unsureThrough + 1)...changes.upperBound, in: state.key)
    }

    /// Adds positions to the ranges: they stay apart from one another.
    func cover(_ range: ClosedRange<Int64>, in conversation: Int64) throws(StorageError) {
        let touching = try connection.all(
            """
            SELECT first_seq, last_seq FROM ranges
            WHERE conversation = ?1 AND first_seq <= ?3 + 1 AND last_seq >= ?2 - 1
            """, conversation, range.lowerBound, range.upperBound
        ) { $0.integer(0)...$0.integer(1) }
        let first = min(range.lowerBound, touching.map(\.lowerBound).min() ?? .max)
        let last = max(range.upperBound, touching.map(\.upperBound).max() ?? .min)
        if touching == [first...last] { return }
        if touching.count == 1, touching[0].lowerBound == first {
            try connection.run(
                "UPDATE ranges SET last_seq = ?3 WHERE conversation = ?1 AND first_seq = ?2", conversation, first, last)
            return
        }
        for old in touching {
            try connection.run(
                "DELETE FROM ranges WHERE conversation = ?1 AND first_seq = ?2", conversation, old.lowerBound)
        }
        try insertRange(first...last, in: conversation)
    }

    /// Takes positions out of the ranges, so that they are loaded again, and lets a message that is loaded replace the
    /// stored one also if it is not newer.
    ///
    /// A page that is on its way may be older than what is stored: it does not count.
    func outdate(_ range: ClosedRange<Int64>, in conversation: Int64) throws(StorageError) {
        let cut = try ranges(in: conversation).filter { $0.overlaps(range) }
        for old in cut {
            try connection.run(
                "DELETE FROM ranges WHERE conversation = ?1 AND first_seq = ?2", conversation, old.lowerBound)
            if old.lowerBound < range.lowerBound {
                try insertRange(old.lowerBound...range.lowerBound - 1, in: conversation)
            }
            if old.upperBound > range.upperBound {
                try insertRange(range.upperBound + 1...old.upperBound, in: conversation)
            }
        }
        try connection.run(
            "UPDATE messages SET change_seq = change_seq - 1 WHERE conversation = ?1 AND seq BETWEEN ?2 AND ?3",
            conversation, range.lowerBound, range.upperBound)
        try connection.run(
            "UPDATE conversations SET first_cursor = max(first_cursor, coalesce(cursor, 0)) WHERE key = ?1",
            conversation)
    }

    private func insertRange(_ range: ClosedRange<Int64>, in conversation: Int64) throws(StorageError) {
        try connection.run(
            "INSERT INTO ranges (conversation, first_seq, last_seq) VALUES (?1, ?2, ?3)", conversation,
            range.lowerBound, range.upperBound)
    }

    func ranges(in conversation: Int64) throws(StorageError) -> [ClosedRange<Int64>] {
        try connection.all(
            "SELECT first_seq, last_seq FROM ranges WHERE conversation = ?1 ORDER BY first_seq", conversation
        ) { $0.integer(0)...$0.integer(1) }
    }

    /// The range that a position lies in.
    func range(at seq: Int64, in conversation: Int64) throws(StorageError) -> ClosedRange<Int64>? {
        try connection.first(
            """
            SELECT first_seq, last_seq FROM ranges
            WHERE conversation = ?1 AND first_seq <= ?2 AND last_seq >= ?2
            """, conversation, seq
        ) { $0.integer(0)...$0.integer(1) }
    }

    /// The ranges of a conversation, ascending.
    package func storedRanges(of id: ConversationID) throws(StorageError) -> [ClosedRange<Int64>] {
        guard let state = try state(of: id) else { return [] }
        return try ranges(in: state.key)
    }
}
