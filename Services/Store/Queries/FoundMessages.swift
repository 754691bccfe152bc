import Bytes
import Models
import Postgres
import Wire

/// The messages of a page of history, ascending. They stay in their rows until they are written.
struct FoundMessages {
    let seqs: [Int64]
    private let places: [Place]
    private let results: [Rows]
    private let wholeResult: Int
    private let head: ConversationQuery
    private let columns: PlainMessageColumns

    /// A row of one of the results.
    private struct Place {
        var seq: Int64
        var result: Int
        var row: Int
    }

    init(_ found: HistoryRows, _ whole: Rows?, _ head: ConversationQuery) {
        var places: [Place] = []
        places.reserveCapacity(found.sides.reduce(0) { $0 + $1.count })
        for (result, rows) in found.sides.enumerated() {
            for index in rows.indices {
                guard let seq = found.seq(rows[index]), found.isVisible(seq), !found.hasMore(rows[index]) else {
                    continue
                }
                places.append(Place(seq: seq, result: result, row: index))
            }
        }
        let wholeSeq = WholeMessages.statement.columns.message.own.seq
        for index in whole?.indices ?? 0..<0 {
            places.append(Place(seq: whole![index][wholeSeq], result: found.sides.count, row: index))
        }
        places.sort { $0.seq < $1.seq }
        self.places = places
        seqs = places.map(\.seq)
        results = found.sides + (whole.map { [$0] } ?? [])
        wholeResult = found.sides.count
        self.head = head
        columns = found.columns
    }

    private func row(_ index: Int) -> Row { results[places[index].result][places[index].row] }

    /// Appends the JSON of a message as the reader sees it.
    func append(_ index: Int, _ receipts: Receipts?, to buffer: inout ByteBuffer) {
        let row = row(index)
        defer { extendLifetime(row) }  // The texts point into it.
        if isWhole(index) {
            let columns = WholeMessages.statement.columns
            let fields = MessageFields(row, columns.message, in: head.conversation)!
            buffer.append(fields, parent: ParentView(row, columns), receipts: receipts)
        } else {
            let fields = MessageFields(row, columns.own, in: head.conversation)!
            buffer.append(fields, parent: .unavailable, receipts: receipts)
        }
    }

    /// Whether the reader sent the message, and so sees its receipts.
    func hasReceipts(_ index: Int) -> Bool {
        let own = isWhole(index) ? WholeMessages.statement.columns.message.own : columns.own
        return MessageFields.hasReceipts(row(index), own, for: head.reader)
    }

    private func isWhole(_ index: Int) -> Bool { places[index].result == wholeResult }
}
