import Models
import Postgres
import Slots
import Wire

/// The conversation and its reader: the first parameters of most queries.
struct ReaderInput: NamedFields {
    let key: ConversationInput
    let reader: Parameter<UserID>
}

extension Parameters {
    mutating func set(_ input: ReaderInput, to head: ConversationQuery) {
        set(input.key, to: head.conversation)
        set(input.reader, to: head.reader)
    }
}

/// The messages of a page of history, for any stays and hidden messages of the reader.
enum HistoryStatement {
    struct Input: NamedFields {
        let head: ReaderInput
        let pivot: Parameter<Int64>
        let older: Parameter<Int64>
        let newer: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let message: PlainMessageColumns
        let lastSeq: Column<Int64>
    }

    static let statement = PreparedStatement<Input, Columns>("history", PackageResources.history_sql, .store)

    static func set(
        _ head: ConversationQuery, _ bounds: HistoryBounds, of input: Input, in parameters: inout Parameters
    ) {
        parameters.set(input.head, to: head)
        parameters.set(input.pivot, to: bounds.pivot)
        // One more on either side shows whether there are more.
        parameters.set(input.older, to: Int64(bounds.older + 1))
        parameters.set(input.newer, to: Int64(bounds.newer + 1))
    }
}

/// Messages that a reader sees, with all their parts.
enum WholeMessages {
    struct Input: NamedFields {
        let head: ReaderInput
        let seqs: Parameter<[Int64]>
        let position: Parameter<Int64>
    }

    static let statement = PreparedStatement<Input, MessageWithParentColumns>(
        "whole_messages", PackageResources.whole_messages_sql, .store)

    static func set(
        _ head: ConversationQuery, seqs: [Int64], asOf position: Int64, of input: Input, in parameters: inout Parameters
    ) {
        parameters.set(input.head, to: head)
        parameters.set(input.seqs, to: seqs)
        parameters.set(input.position, to: position)
    }
}

/// The position of a page: up to `older` messages before `pivot`, up to `newer` from it on.
struct HistoryBounds: Equatable {
    var pivot: Int64
    var older: Int
    var newer: Int

    init(_ query: HistoryQuery) {
        let limit = Int(query.limit)
        (pivot, older, newer) =
            switch query.anchor {
            case .latest: (.max, limit, 0)
            case .before(let seq): (seq, limit, 0)
            case .after(let seq): (seq == .max ? seq : seq + 1, 0, limit)
            case .around(let seq): (seq, limit / 2, limit - limit / 2)
            }
    }
}
