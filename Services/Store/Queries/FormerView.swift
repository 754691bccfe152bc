import Models
import Postgres
import Wire

/// SQL for everything that is frozen at the end of a former member's last stay and has no position of its own to be cut
/// at. Positions are SQL expressions; for a present member it is the highest possible one.
enum FormerView {
    /// The position up to which a reader sees the conversation. The slot, the conversation and the reader are SQL
    /// expressions. NULL if the reader never was a member.
    static func end(_ slot: String, _ conversation: String, _ reader: String) -> String {
        """
        (SELECT max(coalesce(e.left_seq, \(Int64.max))) FROM store.memberships e
         WHERE e.slot = \(slot) AND e.conversation_id = \(conversation) AND e.user_id = \(reader))
        """
    }

    /// The time of a former member's removal. NULL for a present member.
    static func endedAt(_ slot: String, _ conversation: String, _ end: String) -> String {
        """
        (SELECT e.at FROM store.changes e
         WHERE e.slot = \(slot) AND e.conversation_id = \(conversation) AND e.seq = \(end))
        """
    }

    /// The member count, as noted with the removal at `end`. If it was not noted, or `end` is none, it is the present
    /// count less the members who joined after `end`, plus those who left after it.
    static func memberCount(_ slot: String, _ conversation: String, present: String, asOf end: String) -> String {
        func changes(_ kind: ChangeKind) -> String {
            """
            (SELECT count(*) FROM store.changes n
             WHERE n.slot = \(slot) AND n.conversation_id = \(conversation) AND n.kind = \(kind.rawValue) AND n.seq > \(end))
            """
        }
        return """
            coalesce((SELECT e.member_count FROM store.changes e
                WHERE e.slot = \(slot) AND e.conversation_id = \(conversation) AND e.seq = \(end)),
                (\(present) - \(changes(.memberAdded)) + \(changes(.memberRemoved)))::int)
            """
    }

    /// The role of the stay `s`. There are two roles, so the next role change implies the one before.
    static func role(asOf end: String) -> String {
        """
        coalesce((SELECT (3 - n.role)::smallint FROM store.changes n
            WHERE n.slot = s.slot AND n.conversation_id = s.conversation_id AND n.kind = \(ChangeKind.memberChanged.rawValue)
              AND n.user_id = s.user_id AND n.seq > \(end) AND n.seq <= coalesce(s.left_seq, n.seq)
            ORDER BY n.seq LIMIT 1), s.role)
        """
    }

    /// How far the user of the stay `s` was at that time: runs of a kind (1 delivered, 2 shown as read) or of kind 3,
    /// both.
    static func horizon(ofKind kind: Int, _ end: String, _ endedAt: String) -> String {
        func last(_ kind: Int) -> String {
            """
            (SELECT r.to_seq FROM receipt.published_receipt_runs r
             WHERE r.slot = s.slot AND r.conversation_id = s.conversation_id AND r.user_id = s.user_id
               AND r.kind = \(kind) AND r.to_seq <= \(end) AND r.at <= \(endedAt)
             ORDER BY r.to_seq DESC LIMIT 1)
            """
        }
        return "coalesce(greatest(\(last(kind)), \(last(3))), 0)"
    }
}
