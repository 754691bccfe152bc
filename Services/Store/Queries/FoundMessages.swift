import Models
import Postgres
import Wire

/// The messages that a page of history is made of, ascending. They stay in their rows until they are written.
struct FoundMessages {
    let seqs: [Int64]
    private let places: [Place]
    private let plain: Rows
    private let whole: Rows?
    private let head: ConversationQuery

    /// A row of one of the results.
    private struct Place {
        var seq: Int64
        var row: Int
        var isWhole: Bool
    }

    init(_ plain: Rows, _ whole: Rows?, _ head: ConversationQuery) {
        var places: [Place] = []
        places.reserveCapacity(plain.count)
        for index in plain.indices {
            guard !HistoryStatement.hasMore(plain[index]), let seq: Int64 = plain[index][0] else { continue }
            places.append(Place(seq: seq, row: index, isWhole: false))
        }
        for index in whole?.indices ?? 0..<0 {
            places.append(Place(seq: whole![index][0], row: index, isWhole: true))
        }
        places.sort { $0.seq < $1.seq }
        self.places = places
        seqs = places.map(\.seq)
        (self.plain, self.whole, self.head) = (plain, whole, head)
    }

    private func row(_ index: Int) -> Row {
        places[index].isWhole ? whole![places[index].row] : plain[places[index].row]
    }

    /// Texts live as long as this does.
    subscript(index: Int) -> (MessageFields, ParentView) {
        let row = row(index)
        guard places[index].isWhole else {
            return (MessageFields(plain: row, conversation: head.conversation)!, .unavailable)
        }
        return (MessageFields(row, conversation: head.conversation)!, ParentView(row))
    }

    /// Whether the reader sent it, and so is told how far its recipients are.
    func hasReceipts(_ index: Int) -> Bool { MessageFields.hasReceipts(row(index), for: head.reader) }
}
