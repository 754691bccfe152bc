import Models
import Postgres
import Wire

/// A user's private changes after a position, and the position of the stream, in one snapshot. Returns at least one
/// row, without a change if there is none. Changes that are no longer kept are left out, so the first one may lie
/// higher than requested.
enum PrivateFeedStatement {
    static let statement = Statement(
        "private_feed", parameters: [.int2, .text, .int8, .int8],
        """
        SELECT coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = $1 AND u.user_id = $2), 0),
            f.useq, f.kind, f.at, f.conversation_id, f.seq, least(f.last_seq, f.end_seq), f.message_id,
            CASE WHEN f.kind = \(PrivateKind.settingsChanged.rawValue) THEN (
                SELECT c.read_receipts FROM store.conversation_settings c
                WHERE c.slot = f.slot AND c.conversation_id = f.conversation_id AND c.user_id = $2) END,
            CASE WHEN f.kind = \(PrivateKind.settingsChanged.rawValue) THEN (
                SELECT u.read_receipts FROM store.user_settings u WHERE u.user_slot = $1 AND u.user_id = $2) END,
            CASE WHEN f.kind = \(PrivateKind.settingsChanged.rawValue) THEN (
                SELECT u.presence FROM store.user_settings u WHERE u.user_slot = $1 AND u.user_id = $2) END,
            CASE WHEN f.end_seq < f.last_seq
                THEN \(FormerView.memberCount("f.slot", "f.conversation_id", present: "f.member_count", asOf: "f.end_seq"))
                ELSE f.member_count END
        FROM (VALUES (1)) one
        LEFT JOIN LATERAL (
            SELECT h.useq, h.kind, h.at, h.slot, h.conversation_id, h.seq, c.last_seq, c.member_count, h.message_id,
                CASE WHEN h.kind = \(PrivateKind.conversationJoined.rawValue)
                    THEN \(FormerView.end("h.slot", "h.conversation_id", "$2")) END AS end_seq
            FROM store.user_changes h
            LEFT JOIN store.conversations c ON c.slot = h.slot AND c.id = h.conversation_id
            WHERE h.user_slot = $1 AND h.user_id = $2 AND h.useq > $3
            ORDER BY h.useq LIMIT $4
        ) f ON true
        ORDER BY f.useq
        """)

    static func add(_ query: PrivateReplayQuery, to parameters: inout Parameters) {
        parameters.add(query.user.slot)
        parameters.add(query.user)
        parameters.add(query.after)
        parameters.add(Int64(query.limit))
    }

    static func lastUseq(_ row: Row) -> Int64 { row[0] }

    /// Whether the stream cannot be followed from `useq`, because the next changes are no longer kept or are too many.
    static func isTooOld(_ useq: Int64, _ rows: Rows) -> Bool {
        guard let row = rows.first else { return false }
        let first: Int64? = row[1]
        return lastUseq(row) - useq > PrivateTail.kept || first ?? 0 > useq + 1
    }

    /// The last position before the stay, for a user who joined.
    static func start(_ row: Row) -> Int64? { row[5] }
}

extension PrivateChangeFields {
    init?(_ row: Row) {
        guard !row.isNull(1), let kind = PrivateKind(rawValue: UInt8(row[2] as Int16)) else { return nil }
        self.kind = kind
        useq = row[1]
        at = row[3]
        conversation = row[4]
        // A replayed join carries the conversation's present position. A client that was away has the conversation from
        // `welcome` on, and what came before is history.
        lastSeq = kind == .conversationJoined ? row[6] : nil
        message = row[7]
        if kind == .conversationJoined { memberCount = Int(row[11] as Int32? ?? 0) }
        throughSeq = kind == .historyCleared ? row[5] : nil
        readSeq = kind == .readMoved ? row[5] : nil
        settings = kind == .settingsChanged ? Settings(row) : nil
    }
}

extension PrivateChangeFields.Settings {
    /// A replayed change of settings carries those in force now, as replayed changes of conversations do.
    fileprivate init(_ row: Row) {
        let own: Bool? = row[9]
        if row.isNull(4) {
            self = .ofUser(UserSettings(readReceipts: own ?? true, presence: row[10] ?? true))
        } else {
            let decided: Bool? = row[8]
            self = .inConversation(
                ConversationSettings(
                    readReceipts: decided ?? own ?? true, inheritsReadReceipts: decided == nil))
        }
    }
}
