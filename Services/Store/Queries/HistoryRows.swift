import Models
import Postgres
import Wire

/// The rows that a page of history is made of, and the position that it is exact at.
///
/// Nearly every reader sees all there is around the pivot, so that is asked for first: what lies there, whoever reads, and
/// beside it what this reader may see. These are statements of few nodes, which PostgreSQL prepares in half the time of
/// the one that finds its way between stays and past hidden messages (`HistoryStatement`; Tests/Load/PROFILE.md).
struct HistoryRows {
    let position: Int64
    /// In no order. What lies before `first` or behind `position` is not the reader's to see.
    let sides: [Rows]
    let first: Int64
    /// The recipients of what the reader sent, where they were asked for at once.
    let recipients: Rows?

    /// Of the rows of the sides.
    let columns: PlainMessageColumns

    // MARK: For who sees everything

    static let statements = [stays.untyped, before.untyped, from.untyped]

    private struct StayColumns: NamedFields {
        let lastSeq: Column<Int64>
        let firstSeq: Column<Int64>
        let endSeq: Column<Int64>
        let hides: Column<Bool>
    }

    private struct SideInput: NamedFields {
        let slot: Parameter<Slot>
        let conversation: Parameter<ConversationID>
        let pivot: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    private typealias Side = PreparedStatement<SideInput, PlainMessageColumns>

    private static let stays = PreparedStatement<ReaderInput, StayColumns>(
        "reader_stays", PackageResources.reader_stays_sql, .store)
    private static let before = Side("messages_before", PackageResources.messages_before_sql, .store)
    private static let from = Side("messages_from", PackageResources.messages_from_sql, .store)

    /// The stays first: what is found behind them has everything that they tell of, and perhaps something newer.
    static func add(_ head: ConversationQuery, _ bounds: HistoryBounds, to batch: inout Batch) {
        batch.execute(stays) { parameters, input in parameters.set(input, to: head) }
        add(before, head.conversation, bounds.pivot, bounds.older, to: &batch)
        if bounds.pivot < .max { add(from, head.conversation, bounds.pivot, bounds.newer, to: &batch) }
    }

    private static func add(
        _ side: Side, _ conversation: ConversationID, _ pivot: Int64, _ limit: Int, to batch: inout Batch
    ) {
        batch.execute(side) { parameters, input in
            parameters.set(input.slot, to: conversation.slot)
            parameters.set(input.conversation, to: conversation)
            parameters.set(input.pivot, to: pivot)
            parameters.set(input.limit, to: Int64(limit) + 1)  // One more tells whether there are more.
        }
    }

    /// What `add` has brought, and the recipients. Nil where the reader does not see everything from the pivot on, in either
    /// direction, up to where nothing more is theirs to see.
    init?(_ results: [Rows]) {
        let stayed = Self.stays.columns
        guard results[0].count == 1, let stay = results[0].first, !stay[stayed.hides] else { return nil }
        position = min(stay[stayed.lastSeq], stay[stayed.endSeq])
        first = stay[stayed.firstSeq]
        sides = Array(results[1..<(results.count - 1)])
        recipients = results[results.count - 1]
        columns = Self.before.columns
        let seq = columns.own.seq
        if let nearest = sides[0].first?[seq], nearest > position { return nil }
        if sides.count > 1, let nearest = sides[1].first?[seq], nearest < first { return nil }
    }

    // MARK: For everybody

    /// What `HistoryStatement` has found; nil when the reader never was a member.
    init?(_ rows: Rows) {
        guard let row = rows.first else { return nil }
        let found = HistoryStatement.statement.columns
        position = row[found.lastSeq]
        first = 0
        sides = [rows]
        recipients = nil
        columns = found.message
    }

    func isVisible(_ seq: Int64) -> Bool { seq >= first && seq <= position }

    /// Nil where there is no message in the row.
    func seq(_ row: Row) -> Int64? { row.isNull(columns.own.seq) ? nil : row[columns.own.seq] }

    /// Whether a visible message has more to it than its row.
    func hasMore(_ row: Row) -> Bool {
        row[columns.hasMore] || row[columns.own.changedSeq] > position
    }

    /// The visible messages that have.
    var seqsWithMore: [Int64] {
        sides.flatMap { rows in
            rows.compactMap { row in
                guard let seq = seq(row), isVisible(seq), hasMore(row) else { return nil }
                return seq
            }
        }
    }
}
