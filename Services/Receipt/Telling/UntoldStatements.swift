import Models
import Postgres
import Slots

/// Pages of horizons, and which of them are beyond what was reported to the user's devices.
///
/// They fan out over slots: the reported positions lie in the users' slots.
enum UntoldStatements {
    static let pageSize = 2_000

    static let notes = NoteStatements(
        Schema.name, "untold", existence: (table: "receipt.positions", id: "conversation_id"))

    static let all = [ofOne, ofAll]

    /// Of one conversation. $1 slot · $2 conversation · after $3 user · $4 limit.
    private static let ofOne = Statement(
        "untold_of_one", parameters: [.int2, .uuid, .text, .int8],
        """
        SELECT h.user_id, h.read_seq, coalesce(h.read_seq > (
            SELECT i.told_read_seq FROM store.published_inbox i WHERE i.user_id = h.user_id AND i.conversation_id = $2
        ), false)
        FROM receipt.horizons h
        WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id > $3
        ORDER BY h.user_id LIMIT $4
        """)

    /// Of some slots. After $1 conversation, $2 user · $3 slots · $4 limit.
    private static let ofAll = Statement(
        "untold_reads", parameters: [.uuid, .text, .array(.int2), .int8],
        """
        WITH page AS MATERIALIZED (
            SELECT h.conversation_id, h.user_id, h.read_seq FROM receipt.horizons h
            WHERE (h.conversation_id, h.user_id) > ($1, $2) AND h.slot = ANY ($3)
            ORDER BY h.conversation_id, h.user_id LIMIT $4
        )
        SELECT p.conversation_id, p.user_id, p.read_seq, coalesce(p.read_seq > (
            SELECT i.told_read_seq FROM store.published_inbox i
            WHERE i.user_id = p.user_id AND i.conversation_id = p.conversation_id
        ), false)
        FROM page p ORDER BY p.conversation_id, p.user_id
        """)

    /// The horizon after which a page begins.
    struct Place {
        var conversation: ConversationID
        var user = ""

        /// Before the first horizon.
        static let start = Place(conversation: ConversationID(.zero))
    }

    struct Page {
        var untold: [(HorizonKey, Int64)]
        /// The number of horizons on the page.
        var looked: Int
        /// Where the next page begins; nil on the last page.
        var next: Place?
    }

    // MARK: Of one conversation

    static func add(_ places: [Place], to batch: inout Batch) {
        for place in places {
            batch.execute(ofOne) { parameters in
                parameters.add(place.conversation.slot)
                parameters.add(place.conversation)
                parameters.add(place.user)
                parameters.add(Int64(pageSize))
            }
        }
    }

    static func page(_ rows: Rows, of place: Place) -> Page {
        let untold = rows.filter { $0[2] }.map {
            (HorizonKey(conversation: place.conversation, user: $0[0]), $0[1] as Int64)
        }
        var next: Place?
        if rows.count == pageSize, let last = rows.last {
            next = Place(conversation: place.conversation, user: last[0])
        }
        return Page(untold: untold, looked: rows.count, next: next)
    }

    // MARK: Of slots

    static func page(
        _ slots: Set<Slot>, behind place: Place, on connection: Connection
    ) async throws(DatabaseError) -> Page {
        let rows = try await connection.query(ofAll) { parameters in
            parameters.add(place.conversation)
            parameters.add(place.user)
            parameters.addArray(of: .int2)
            for slot in slots { parameters.append(slot) }
            parameters.add(Int64(pageSize))
        }
        let untold = rows.filter { $0[3] }.map { (HorizonKey(conversation: $0[0], user: $0[1]), $0[2] as Int64) }
        var next: Place?
        if rows.count == pageSize, let last = rows.last { next = Place(conversation: last[0], user: last[1]) }
        return Page(untold: untold, looked: rows.count, next: next)
    }
}
