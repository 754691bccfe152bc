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

    static let all = [ofOne.untyped, ofSlots.untyped]

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

    private struct OneInput: NamedFields {
        let key: ConversationInput
        let after: Parameter<String>
        let limit: Parameter<Int64>
    }

    private struct OneColumns: NamedFields {
        let userId: Column<UserID>
        let readSeq: Column<Int64>
        let isUntold: Column<Bool>
    }

    private static let ofOne = PreparedStatement<OneInput, OneColumns>(
        "untold_of_one", PackageResources.untold_of_one_sql, .receipt)

    static func add(_ places: [Place], to batch: inout Batch) {
        for place in places {
            batch.execute(ofOne) { parameters, input in
                parameters.set(input.key, to: place.conversation)
                parameters.set(input.after, to: place.user)
                parameters.set(input.limit, to: Int64(pageSize))
            }
        }
    }

    static func page(_ rows: Rows, of place: Place) -> Page {
        let columns = ofOne.columns
        let untold = rows.filter { $0[columns.isUntold] }.map {
            (HorizonKey(conversation: place.conversation, user: $0[columns.userId]), $0[columns.readSeq])
        }
        var next: Place?
        if rows.count == pageSize, let last = rows.last {
            next = Place(conversation: place.conversation, user: last[columns.userId].name)
        }
        return Page(untold: untold, looked: rows.count, next: next)
    }

    // MARK: Of slots

    private struct SlotsInput: NamedFields {
        let afterConversation: Parameter<ConversationID>
        let afterUser: Parameter<String>
        let slots: Parameter<[Slot]>
        let limit: Parameter<Int64>
    }

    private struct SlotsColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let horizon: OneColumns
    }

    private static let ofSlots = PreparedStatement<SlotsInput, SlotsColumns>(
        "untold_reads", PackageResources.untold_reads_sql, .receipt)

    static func page(
        _ slots: Set<Slot>, behind place: Place, on connection: Connection
    ) async throws(DatabaseError) -> Page {
        let rows = try await connection.query(ofSlots) { parameters, input in
            parameters.set(input.afterConversation, to: place.conversation)
            parameters.set(input.afterUser, to: place.user)
            parameters.set(input.slots, to: slots)
            parameters.set(input.limit, to: Int64(pageSize))
        }
        let columns = ofSlots.columns
        let untold = rows.filter { $0[columns.horizon.isUntold] }.map { row in
            (
                HorizonKey(conversation: row[columns.conversationId], user: row[columns.horizon.userId]),
                row[columns.horizon.readSeq]
            )
        }
        var next: Place?
        if rows.count == pageSize, let last = rows.last {
            next = Place(conversation: last[columns.conversationId], user: last[columns.horizon.userId].name)
        }
        return Page(untold: untold, looked: rows.count, next: next)
    }
}
