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
    static let ofShards = [told.untyped]

    /// On Citus, where what was told is asked of other shards, a smaller piece at a time.
    static let pageSizeOfShard = 500

    /// The horizon after which a page begins.
    struct Place {
        var conversation: ConversationID
        var user = ""

        /// Before the first horizon.
        static let start = Place(conversation: ConversationID(.zero))
    }

    struct Page {
        /// On Citus all of the page, until `UntoldSearch` has found out what was told.
        var untold: [(HorizonKey, Int64)]
        /// The number of horizons on the page.
        var looked: Int
        /// Where the next page begins; nil on the last page.
        var next: Place?
    }

    /// What these statements see of users.
    enum Reach {
        /// All of them.
        case all
        /// On Citus: nobody's row. What was told is asked for afterwards, of those on the page.
        case shard

        var pageSize: Int { self == .all ? UntoldStatements.pageSize : pageSizeOfShard }
        var borrowed: [[UInt8]] { self == .all ? [] : [Array("{}".utf8)] }
    }

    // MARK: What was told

    struct ToldColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let userId: Column<UserID>
        let toldReadSeq: Column<Int64>
    }

    static let told = PreparedStatement<NoFields, ToldColumns>(
        "told_positions", PackageResources.told_positions_sql, .receipt)

    /// What remains of a page's positions, by borrowed rows of the lists of their users.
    static func untold(
        _ positions: [(HorizonKey, Int64)], _ rows: [UInt8], on connection: Connection
    ) async throws(DatabaseError) -> [(HorizonKey, Int64)] {
        let columns = told.columns
        let found = try await connection.transaction { batch in
            batch.execute(told, borrowing: [rows]) { _, _ in }
        }[0]
        let reached = Dictionary(
            found.map { row in
                (
                    HorizonKey(conversation: row[columns.conversationId], user: row[columns.userId]),
                    row[columns.toldReadSeq]
                )
            }, uniquingKeysWith: max)
        // Who has no such row is told nothing.
        return positions.filter { key, seq in reached[key].map { seq > $0 } ?? false }
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

    static func add(_ places: [Place], _ reach: Reach, to batch: inout Batch) {
        for place in places {
            batch.execute(ofOne, borrowing: reach.borrowed) { parameters, input in
                parameters.set(input.key, to: place.conversation)
                parameters.set(input.after, to: place.user)
                parameters.set(input.limit, to: Int64(reach.pageSize))
            }
        }
    }

    static func page(_ rows: Rows, of place: Place, _ reach: Reach) -> Page {
        let columns = ofOne.columns
        let untold = rows.filter { reach == .shard || $0[columns.isUntold] }.map {
            (HorizonKey(conversation: place.conversation, user: $0[columns.userId]), $0[columns.readSeq])
        }
        var next: Place?
        if rows.count == reach.pageSize, let last = rows.last {
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
        _ slots: Set<Slot>, behind place: Place, _ reach: Reach, on connection: Connection
    ) async throws(DatabaseError) -> Page {
        let rows = try await connection.transaction { batch in
            batch.execute(ofSlots, borrowing: reach.borrowed) { parameters, input in
                parameters.set(input.afterConversation, to: place.conversation)
                parameters.set(input.afterUser, to: place.user)
                parameters.set(input.slots, to: slots)
                parameters.set(input.limit, to: Int64(reach.pageSize))
            }
        }[0]
        let columns = ofSlots.columns
        let untold = rows.filter { reach == .shard || $0[columns.horizon.isUntold] }.map { row in
            (
                HorizonKey(conversation: row[columns.conversationId], user: row[columns.horizon.userId]),
                row[columns.horizon.readSeq]
            )
        }
        var next: Place?
        if rows.count == reach.pageSize, let last = rows.last {
            next = Place(conversation: last[columns.conversationId], user: last[columns.horizon.userId].name)
        }
        return Page(untold: untold, looked: rows.count, next: next)
    }
}
