import Models
import Postgres
import Slots
import Wire

/// The rows of a page of history, and the position that the page is exact at.
///
/// Nearly every reader sees everything around the pivot, so this is requested first: the rows there, for any reader,
/// and the range that this reader may see. These statements have few plan nodes. PostgreSQL prepares them in half the
/// time of `HistoryStatement`, which handles stays and hidden messages (Tests/Load/PROFILE.md).
struct HistoryRows {
    let position: Int64
    /// The rows, in no order. The reader may not see those before `first` or after `position`.
    let sides: [Rows]
    let first: Int64
    /// The recipients of the reader's own messages, if they were requested in the same batch.
    let recipients: Rows?

    /// The columns of the rows in `sides`.
    let columns: PlainMessageColumns

    // MARK: Readers who see everything

    static let statements = [stays.untyped, before.untyped, from.untyped]

    private struct StayColumns: NamedFields {
        let lastSeq: Column<Int64>
        let firstSeq: Column<Int64>
        let endSeq: Column<Int64>
        let hides: Column<Bool>
    }

    private struct SideInput: NamedFields {
        let key: ConversationInput
        let pivot: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    private typealias Side = PreparedStatement<SideInput, PlainMessageColumns>

    private static let stays = PreparedStatement<ReaderInput, StayColumns>(
        "reader_stays", PackageResources.reader_stays_sql, .store)
    private static let before = Side("messages_before", PackageResources.messages_before_sql, .store)
    private static let from = Side("messages_from", PackageResources.messages_from_sql, .store)

    /// Adds the statements, the stays first: rows read after the stays include everything within them, and perhaps
    /// something newer.
    static func add(_ head: ConversationQuery, _ bounds: HistoryBounds, to batch: inout Batch) {
        batch.execute(stays) { parameters, input in parameters.set(input, to: head) }
        add(before, head.conversation, bounds.pivot, bounds.older, to: &batch)
        if bounds.pivot < .max { add(from, head.conversation, bounds.pivot, bounds.newer, to: &batch) }
    }

    private static func add(
        _ side: Side, _ conversation: ConversationID, _ pivot: Int64, _ limit: Int, to batch: inout Batch
    ) {
        batch.execute(side) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.pivot, to: pivot)
            parameters.set(input.limit, to: Int64(limit) + 1)  // One more shows whether there are more.
        }
    }

    /// Reads the results of `add`, and the recipients. Nil if the reader does not see everything from the pivot on, in
    /// either direction, up to the ends of what they may see.
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

    // MARK: All readers

    /// Reads the result of `HistoryStatement`. Nil if the reader never was a member.
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

    /// Nil if the row has no message.
    func seq(_ row: Row) -> Int64? { row.isNull(columns.own.seq) ? nil : row[columns.own.seq] }

    /// Whether a visible message has parts outside its row.
    func hasMore(_ row: Row) -> Bool {
        row[columns.hasMore] || row[columns.own.changedSeq] > position
    }

    /// The visible messages that have such parts.
    var seqsWithMore: [Int64] {
        sides.flatMap { rows in
            rows.compactMap { row in
                guard let seq = seq(row), isVisible(seq), hasMore(row) else { return nil }
                return seq
            }
        }
    }
}
