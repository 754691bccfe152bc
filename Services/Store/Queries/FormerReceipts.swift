import Models
import Postgres
import Slots
import Wire

/// How far the recipients of a former member's messages were when that member left. Later receipts are not shown. These
/// statements look at every stay of the conversation, which those for present members do not, so they are heavy.
enum FormerReceipts {
    static let statements = [end.untyped, counts.untyped, dates.untyped, single.untyped]

    // MARK: The end

    struct EndColumns: NamedFields {
        let seq: Column<Int64>
        let at: Column<Timestamp>
    }

    private static let end = PreparedStatement<ReaderInput, EndColumns>(
        "former_end", PackageResources.former_end_sql, .store)

    /// Where and when the last stay of a user in a conversation ended.
    struct End {
        let seq: Int64
        let at: Timestamp

        init(_ row: Row) { (seq, at) = (row[end.columns.seq], row[end.columns.at]) }
    }

    static func addEnd(of user: UserID, in conversation: ConversationID, to batch: inout Batch) {
        batch.execute(end) { $0.set($1, to: ConversationQuery(conversation, reader: user)) }
    }

    // MARK: Counts and dates of many messages

    private struct CountsInput: NamedFields {
        let key: ConversationInput
        let sender: Parameter<UserID>
        let endSeq: Parameter<Int64>
        let endedAt: Parameter<Timestamp>
        let first: Parameter<Int64>
    }

    private struct CountsColumns: NamedFields {
        let recipient: RecipientsStatement.Columns
        let count: Column<Int64>
    }

    private struct DatesInput: NamedFields {
        let messages: ReceiptsInput
        let endedAt: Parameter<Timestamp>
    }

    private static let counts = PreparedStatement<CountsInput, CountsColumns>(
        "former_receipt_counts", PackageResources.former_receipt_counts_sql, .store)
    private static let dates = PreparedStatement<DatesInput, ReceiptDates.Columns>(
        "former_receipt_dates", PackageResources.former_receipt_dates_sql, .store)

    static func add(_ messages: SentMessages, sender: UserID, asOf end: End, to batch: inout Batch) {
        batch.execute(counts) { parameters, input in
            parameters.set(input.key, to: messages.conversation)
            parameters.set(input.sender, to: sender)
            parameters.set(input.endSeq, to: end.seq)
            parameters.set(input.endedAt, to: end.at)
            parameters.set(input.first, to: messages.seqs.first ?? end.seq)
        }
        batch.execute(dates) { parameters, input in
            parameters.set(input.messages, to: messages, by: sender)
            parameters.set(input.endedAt, to: end.at)
        }
    }

    /// Decodes the results of both statements.
    static func receipts(of messages: SentMessages, counts rows: Rows, dates: Rows) -> [Receipts] {
        let columns = counts.columns
        let spans = rows.map { row in
            RecipientsStatement.span(row, columns.recipient, of: messages, count: Int(row[columns.count]))
        }
        var receipts = ReceiptCounts.sum(spans, messageCount: messages.seqs.count)
        ReceiptDates.note(dates, Self.dates.columns, on: &receipts)
        return receipts
    }

    // MARK: One message

    /// Like `ReceiptsStatement`, for a former member's own message.
    static let single = PreparedStatement<MessagePageInput, ReceiptsStatement.Columns>(
        "former_receipts", PackageResources.former_receipts_sql, .store)
}

// Conversations of any size, in two round trips.
extension Queries {
    /// Fills in the counts that are still nil, if the sender has left.
    ///
    /// - Parameter present: the indices of which it is known that the sender has not.
    func countForFormer(
        _ sent: [SentMessages], by sender: UserID, except present: Set<Int>, _ receipts: inout [[Receipts]?]
    ) async throws {
        let uncounted = sent.indices.filter { receipts[$0] == nil && !present.contains($0) }
        guard !uncounted.isEmpty else { return }
        let ends = try await connection.transaction { batch in
            for index in uncounted {
                FormerReceipts.addEnd(of: sender, in: sent[index].conversation, to: &batch)
            }
        }
        let former = zip(uncounted, ends).compactMap { index, rows in
            rows.first.map { (index: index, end: FormerReceipts.End($0)) }
        }
        guard !former.isEmpty else { return }
        let results = try await connection.transaction(.heavy) { batch in
            for (index, end) in former {
                FormerReceipts.add(sent[index], sender: sender, asOf: end, to: &batch)
            }
        }
        for (place, (index, _)) in former.enumerated() {
            receipts[index] = FormerReceipts.receipts(
                of: sent[index], counts: results[2 * place], dates: results[2 * place + 1])
        }
    }
}
