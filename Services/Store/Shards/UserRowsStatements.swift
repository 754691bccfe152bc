import Models
import Postgres
import Wire

/// The statements that read rows of users for those who borrow them: as PostgreSQL writes an array of a table's rows, by the
/// slot of the conversation that they are of.
///
/// They are made for each table, and prepared in sessions of shards only.
struct UserRowsStatements: Sendable {
    /// A table of users that statements read beside tables of conversations.
    enum Table: String, CaseIterable {
        case blocks, devices, erasures, inbox, introductions, profiles, requests, scheduled, suspensions
        case shadowListings = "shadow_listings"
        case userChanges = "user_changes"
        case userSettings = "user_settings"
        case userStreams = "user_streams"
        /// Of the rows of `inbox`, what is published of them: nothing that a user has written, or keeps for themselves.
        case publishedInbox = "published_inbox"

        /// As statements name it.
        var name: String { "store.\(rawValue)" }

        /// The slot of a row's conversation; nil: rows have none.
        fileprivate var slot: String? {
            switch self {
            case .inbox, .requests, .publishedInbox: "i.slot"
            // What is of no conversation is as if it were of one in the user's slot.
            case .userChanges: "coalesce(i.slot, i.user_slot)"
            case .scheduled, .shadowListings: "get_byte(uuid_send(i.conversation_id), 15)::smallint"
            case .blocks, .devices, .erasures, .introductions, .profiles, .suspensions, .userSettings, .userStreams: nil
            }
        }

        /// The table itself.
        fileprivate var source: String { self == .publishedInbox ? Table.inbox.name : name }

        /// A row of it, as it is lent.
        fileprivate var row: String {
            guard self == .publishedInbox else { return "i" }
            let kept = [
                "muted_until", "pin_order", "archived_seq", "marked_unread_seq", "draft_text", "draft_reply_id",
                "draft_at",
                "draft_useq",
            ].map { "\"\($0)\": null" }
            return "jsonb_populate_record(i, '{\(kept.joined(separator: ", "))}')"
        }

        /// Whether rows are found by their conversations.
        fileprivate var hasConversations: Bool { slot != nil && self != .userChanges }
    }

    /// The tables whose rows are lent to `receipt`: all that it reads of them is published to it.
    static let ofReceipt = [Table.userSettings.name, Table.publishedInbox.name]

    /// Of all tables.
    static let all: [Statement] =
        Table.allCases.flatMap { table in
            [whole(table), few(table)] + (table.hasConversations ? [ofConversations(table)] : [])
        } + [.inbox, .scheduled, .userChanges].map(fed) + [slots, first, shown]

    /// Of the inbox: the slots, each with an empty array.
    ///
    /// - Parameters: user_slots smallint[] · users text[]
    private static let slots = Statement(
        "user_rows_slots", parameters: [.array(.int2), .array(.text)],
        """
        SELECT i.slot, 0 AS row_count, '{}' AS rows
        FROM unnest($1, $2) AS u (user_slot, user_id)
        JOIN store.inbox i ON i.user_slot = u.user_slot AND i.user_id = u.user_id
        GROUP BY i.slot
        """)

    /// - Parameters: user_slots smallint[] · users text[]
    private static let first = Statement(
        "user_rows_first", parameters: [.array(.int2), .array(.text)],
        """
        SELECT i.slot, count(*)::int AS row_count, array_agg(i.row)::text AS rows
        FROM unnest($1, $2) AS u (user_slot, user_id)
        CROSS JOIN LATERAL (
            SELECT (-1)::smallint AS slot, h AS row FROM store.user_changes h
            WHERE h.user_slot = u.user_slot AND h.user_id = u.user_id ORDER BY h.useq LIMIT 1
        ) i
        GROUP BY 1
        """)

    /// As {shown_requests}.
    ///
    /// - Parameters: user_slots smallint[] · users text[]
    private static let shown = Statement(
        "user_rows_shown", parameters: [.array(.int2), .array(.text)],
        """
        SELECT i.slot, count(*)::int AS row_count, array_agg(i.row)::text AS rows
        FROM unnest($1, $2) AS u (user_slot, user_id) CROSS JOIN (VALUES (true), (false)) AS kind (is_direct)
        CROSS JOIN LATERAL (
            SELECT w.slot, w AS row FROM store.requests w
            WHERE w.user_slot = u.user_slot AND w.user_id = u.user_id AND w.is_waiting AND w.is_direct = kind.is_direct
            ORDER BY w.at DESC, w.conversation_id DESC LIMIT \(ContractLimits.waitingRequests)
        ) i
        GROUP BY 1
        """)

    /// Private changes, or what they are about.
    ///
    /// - Parameters: user_slots smallint[] · users text[] · after bigint · limit bigint
    private static func fed(_ table: Table) -> Statement {
        let rows =
            switch table {
            case .inbox:
                """
                (SELECT DISTINCT h.user_slot, h.user_id, h.conversation_id FROM h WHERE h.conversation_id IS NOT NULL) h
                JOIN store.inbox i ON i.user_slot = h.user_slot AND i.user_id = h.user_id
                    AND i.conversation_id = h.conversation_id
                """
            case .scheduled:
                """
                h JOIN store.scheduled i ON i.user_slot = h.user_slot AND i.user_id = h.user_id
                    AND i.conversation_id = h.conversation_id AND i.message_id = h.message_id AND i.useq = h.useq
                """
            default:
                """
                h JOIN store.user_changes i ON i.user_slot = h.user_slot AND i.user_id = h.user_id AND i.useq = h.useq
                """
            }
        return Statement(
            "user_rows_fed_\(table.rawValue)", parameters: [.array(.int2), .array(.text), .int8, .int8],
            """
            WITH h AS MATERIALIZED (
                SELECT h.* FROM unnest($1, $2) AS u (user_slot, user_id)
                CROSS JOIN LATERAL (
                    SELECT h.user_slot, h.user_id, h.useq, h.conversation_id, h.message_id FROM store.user_changes h
                    WHERE h.user_slot = u.user_slot AND h.user_id = u.user_id AND h.useq > $3 ORDER BY h.useq LIMIT $4
                ) h
            )
            SELECT \(table.slot ?? "(-1)::smallint") AS slot, count(*)::int AS row_count, array_agg(i)::text AS rows
            FROM \(rows)
            GROUP BY 1
            """)
    }

    // MARK: Loans

    static func execution(_ table: Table, _ loan: Loan) -> Execution {
        let statement =
            switch loan.scope {
            case .all: whole(table)
            case .conversations: ofConversations(table)
            case .few: few(table)
            case .slots: slots
            case .first: first
            case .shown: shown
            case .fed: fed(table)
            }
        return Execution.recorded { batch in
            batch.execute(statement) { parameters in
                parameters.addArray(of: .int2)
                for user in loan.users { parameters.append(user.slot) }
                parameters.addArray(of: .text)
                for user in loan.users { parameters.append(user) }
                switch loan.scope {
                case .conversations(let conversations):
                    parameters.addArray(of: .uuid)
                    for conversation in conversations { parameters.append(conversation) }
                case .few(let limit): parameters.add(limit)
                case .fed(let after, let limit):
                    parameters.add(after)
                    parameters.add(limit)
                case .all, .first, .shown, .slots: break
                }
            }
        }[0]
    }

    /// How another shard's owner is asked for it; nil: it is not.
    static func query(_ table: Table, _ loan: Loan) -> UserRowsQuery? {
        switch loan.scope {
        case .all: UserRowsQuery([table.name], of: loan.users)
        case .conversations(let conversations):
            UserRowsQuery([table.name], of: loan.users, in: conversations)
        case .few(let limit): UserRowsQuery([table.name], of: loan.users, rowsOfUser: UInt16(limit))
        case .first, .fed, .shown, .slots: nil
        }
    }

    /// - Parameters: user_slots smallint[] · users text[]
    private static func whole(_ table: Table) -> Statement {
        Statement(
            "user_rows_\(table.rawValue)", parameters: [.array(.int2), .array(.text)],
            """
            SELECT \(table.slot ?? "(-1)::smallint") AS slot, count(*)::int AS row_count, array_agg(\(table.row))::text AS rows
            FROM unnest($1, $2) AS u (user_slot, user_id)
            JOIN \(table.source) i ON i.user_slot = u.user_slot AND i.user_id = u.user_id
            GROUP BY 1
            """)
    }

    /// - Parameters: user_slots smallint[] · users text[] · conversations uuid[]
    private static func ofConversations(_ table: Table) -> Statement {
        Statement(
            "user_rows_of_\(table.rawValue)", parameters: [.array(.int2), .array(.text), .array(.uuid)],
            """
            SELECT \(table.slot ?? "(-1)::smallint") AS slot, count(*)::int AS row_count, array_agg(\(table.row))::text AS rows
            FROM unnest($1, $2) AS u (user_slot, user_id) CROSS JOIN unnest($3) AS c (id)
            JOIN \(table.source) i ON i.user_slot = u.user_slot AND i.user_id = u.user_id AND i.conversation_id = c.id
            GROUP BY 1
            """)
    }

    /// The rows of users who have more than the limit go to every slot: whoever reads them looks elsewhere instead. Drafts are
    /// left out.
    ///
    /// - Parameters: user_slots smallint[] · users text[] · limit bigint
    private static func few(_ table: Table) -> Statement {
        let row =
            table == .inbox
            ? #"CASE WHEN i.draft_text IS NULL THEN i ELSE jsonb_populate_record(i, '{"draft_text": null}') END"#
            : table.row
        return Statement(
            "user_rows_few_\(table.rawValue)", parameters: [.array(.int2), .array(.text), .int8],
            """
            SELECT CASE WHEN f.total < $3 THEN f.slot ELSE -1 END::smallint AS slot, count(*)::int AS row_count,
                array_agg(f.row)::text AS rows
            FROM unnest($1, $2) AS u (user_slot, user_id)
            CROSS JOIN LATERAL (
                SELECT f.*, count(*) OVER () AS total FROM (
                    SELECT \(table.slot ?? "(-1)::smallint") AS slot, \(row) AS row FROM \(table.source) i
                    WHERE i.user_slot = u.user_slot AND i.user_id = u.user_id LIMIT $3
                ) f
            ) f
            GROUP BY 1
            """)
    }

    /// The rows of one statement.
    static func groups(_ rows: Rows) -> [UserRowsAnswer.Group] {
        rows.map { row in
            let slot: Int16 = row[0], count: Int32 = row[1]
            let text: UnsafeRawBufferPointer = row[2]
            return .init(slot: slot < 0 ? nil : Slot(UInt8(slot)), rowCount: Int(count), text: Array(text))
        }
    }
}
