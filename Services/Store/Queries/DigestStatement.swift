import Models
import Postgres
import Wire

/// Digests of what a reader sees of a conversation, page by page. All pages and the positions they are exact at come
/// from one snapshot. A page is a thousand positions of the conversation for every reader, so page boundaries never
/// move. The lines of a digest are those of `openapi.json` ("Comparing copies"), so every client computes the same
/// ones.
///
/// Returns no row if the reader never was a member, and one row without a page if no page ends after the requested
/// position.
///
/// A page is read and released before the next one, and a text is present only as its hash. So a page takes no more
/// memory than its thousand lines, however long its texts are.
enum DigestStatement {
    static let pagePositions: Int64 = 1_000

    static let statement = Statement(
        "digest", parameters: [.int2, .uuid, .text, .int2, .int8, .int8],
        """
        WITH stays AS MATERIALIZED (
            SELECT joined_seq, greatest(joined_seq, cleared_seq + 1) AS first_seq, coalesce(left_seq, 9223372036854775807) AS last_seq
            FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $3
        ), position AS MATERIALIZED (
            SELECT least(c.last_seq, max(s.last_seq)) AS last_seq
            FROM store.conversations c, stays s
            WHERE c.slot = $1 AND c.id = $2
            GROUP BY c.last_seq
        ), pages AS MATERIALIZED (
            SELECT DISTINCT n.number * \(pagePositions) + 1 AS first_seq,
                least((n.number + 1) * \(pagePositions), p.last_seq) AS last_seq
            FROM position p, stays s, LATERAL (
                SELECT greatest(s.joined_seq - 1, $5) / \(pagePositions) AS first,
                    (least(s.last_seq, p.last_seq) - 1) / \(pagePositions) AS last
                WHERE p.last_seq > $5
            ) page, LATERAL generate_series(page.first, least(page.last, page.first + $6 - 1)) AS n(number)
            ORDER BY 1 LIMIT $6
        )
        SELECT p.last_seq,
            coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = $4 AND u.user_id = $3), 0),
            page.first_seq, page.last_seq, \(digest(of: changes)), \(digest(of: messages))
        FROM position p
        LEFT JOIN pages page ON true
        ORDER BY page.first_seq
        """)

    /// The SHA-256 of the lines in the order of their positions, in hexadecimal digits. NULL without a page.
    private static func digest(of lines: String) -> String {
        """
        CASE WHEN page.first_seq IS NOT NULL THEN (
            SELECT encode(sha256(convert_to(coalesce(string_agg(concat(l.line, chr(10)), '' ORDER BY l.seq), ''), 'UTF8')), 'hex')
            FROM (\(lines)) l
        ) END
        """
    }

    /// Every change: position, kind, subject, actor. A message that the reader does not see is not named.
    private static let changes = """
        SELECT m.seq, concat_ws(' ', m.seq, 'message.created', m.id, m.sender_id) AS line
        FROM stays s, LATERAL (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.kind <> 3
              AND m.seq BETWEEN greatest(s.joined_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
            OFFSET 0
        ) m
        UNION ALL
        SELECT h.seq, concat_ws(' ', h.seq, CASE h.kind \(kindNames) END, coalesce(
            CASE WHEN h.message_id IS NOT NULL THEN (
                SELECT m.id::text FROM store.messages m
                WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = h.message_id
                  AND EXISTS (SELECT FROM stays o WHERE m.seq BETWEEN o.joined_seq AND o.last_seq)) END,
            CASE WHEN h.kind IN (\(memberKinds)) THEN h.user_id END, '-'), h.actor_id) AS line
        FROM stays s, LATERAL (
            SELECT h.* FROM store.changes h
            WHERE h.slot = $1 AND h.conversation_id = $2
              AND h.seq BETWEEN greatest(s.joined_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
            OFFSET 0
        ) h
        """

    /// Every message as history shows it: position, id, sender, parent, edit time, mentions, tapbacks, hash of its
    /// text.
    private static let messages = """
        SELECT m.seq, concat_ws(' ', m.seq, m.id, m.sender_id, coalesce(m.reply_to::text, '-'),
            coalesce(to_char(\(MessageRow.editedAt(asOf: "p.last_seq")) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-'),
            coalesce(nullif(array_to_string(m.mentions, ','), ''), '-'),
            coalesce(CASE WHEN m.tapback_count > 0 THEN (\(MessageRow.tapbackCountsText(asOf: "p.last_seq"))) END, '-'),
            coalesce(encode(sha256(convert_to(\(MessageRow.text(of: "m", asOf: "p.last_seq")), 'UTF8')), 'hex'), '-')
        ) AS line
        FROM stays s, LATERAL (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.kind <> 3
              AND m.seq BETWEEN greatest(s.first_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
              -- Once for the page, not for each of its messages.
              AND m.seq <> ALL (ARRAY(
                  SELECT d.seq FROM store.hidden d
                  WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3
                    AND d.seq BETWEEN page.first_seq AND page.last_seq))
            OFFSET 0
        ) m
        """

    private static let kindNames = ChangeKind.allCases.map { "WHEN \($0.rawValue) THEN '\($0.name)'" }
        .joined(separator: " ")

    private static let memberKinds = [ChangeKind.memberAdded, .memberRemoved, .memberChanged]
        .map { "\($0.rawValue)" }.joined(separator: ", ")

    /// - Parameter limit: the number of pages, however many the query asks for.
    static func add(_ query: AfterPositionQuery, atMost limit: Int, to parameters: inout Parameters) {
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(query.head.reader.slot)
        parameters.add(query.after)
        parameters.add(Int64(min(Int(query.limit), limit)))
    }
}
