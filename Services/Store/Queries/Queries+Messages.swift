import Bytes
import JSON
import Models
import Postgres
import Wire

// Messages as their readers see them.
extension Queries {
    /// `Message`
    func message(_ query: MessageQuery) async throws -> [UInt8] {
        try await message(query, by: MessageStatement.statement)
    }

    func message(_ query: MessageQuery, by statement: Statement) async throws -> [UInt8] {
        let rows = try await connection.query(statement) { MessageStatement.add(query, to: &$0) }
        defer { extendLifetime(rows) }  // The texts lie in them.
        guard let row = rows.first, let message = MessageFields(row, conversation: query.head.conversation) else {
            throw Problem(.notFound, "there is no such message")
        }
        let receipts = try await receipts(of: [message], for: query.head.reader)
        var buffer = ByteBuffer()
        buffer.append(message, parent: ParentView(row), receipts: receipts[MessageKey(message)])
        return buffer.array
    }

    /// `{messages, hasMoreBefore, hasMoreAfter, lastSeq}`
    func history(_ query: HistoryQuery) async throws -> [UInt8] {
        let rows = try await connection.query(HistoryStatement.statement) { HistoryStatement.add(query, to: &$0) }
        defer { extendLifetime(rows) }  // The texts lie in them.
        guard let first = rows.first else { throw Problem.unknownConversation }
        let found = rows.compactMap { row in
            MessageFields(row, conversation: query.head.conversation).map { (message: $0, parent: ParentView(row)) }
        }
        let receipts = try await receipts(of: found.map(\.message), for: query.head.reader)
        let page = HistoryPage(HistoryBounds(query), seqs: found.map(\.message.seq)) { index in
            var encoded = ByteBuffer(capacity: 1024)
            let (message, parent) = found[index]
            encoded.append(message, parent: parent, receipts: receipts[MessageKey(message)])
            return encoded.array
        }
        return page.json(lastSeq: HistoryStatement.lastSeq(first))
    }

    /// The receipts of those messages that the reader sent, in one round trip whatever conversations they are in.
    func receipts(of messages: [MessageFields], for reader: UserID) async throws -> [MessageKey: Receipts] {
        let own = messages.filter { $0.sender == reader && $0.kind != .system }
        guard !own.isEmpty else { return [:] }
        let seqs = Dictionary(grouping: own, by: \.conversation).mapValues { $0.map(\.seq).sorted() }
        let conversations = Array(seqs.keys)
        let results = try await connection.transaction { batch in
            for conversation in conversations {
                batch.execute(ReceiptCounts.statement) {
                    ReceiptCounts.add(conversation, sender: reader, seqs: seqs[conversation]!, to: &$0)
                }
                batch.execute(KeptDates.statement) { KeptDates.add(conversation, seqs: seqs[conversation]!, to: &$0) }
            }
        }
        var receipts: [MessageKey: Receipts] = [:]
        for (index, conversation) in conversations.enumerated() {
            let spans = ReceiptCounts.decode(results[2 * index])
            var sums = ReceiptCounts.sum(spans, messageCount: seqs[conversation]!.count)
            KeptDates.note(results[2 * index + 1], seqs: seqs[conversation]!, on: &sums)
            for (seq, sum) in zip(seqs[conversation]!, sums) { receipts[MessageKey(conversation, seq)] = sum }
        }
        try await addDates(to: &receipts, sender: reader)
        return receipts
    }

    /// Adds the dates that are kept nowhere. After the counts: whoever is counted has a date by then.
    private func addDates(to receipts: inout [MessageKey: Receipts], sender: UserID) async throws {
        let lacking = receipts.filter(\.value.lacksDate).keys
        guard !lacking.isEmpty else { return }
        let seqs = Dictionary(grouping: lacking, by: \.conversation).mapValues { $0.map(\.seq).sorted() }
        let conversations = Array(seqs.keys)
        let results = try await connection.transaction { batch in
            for conversation in conversations {
                batch.execute(ReceiptDates.statement) {
                    ReceiptCounts.add(conversation, sender: sender, seqs: seqs[conversation]!, to: &$0)
                }
            }
        }
        for (conversation, rows) in zip(conversations, results) {
            let keys = seqs[conversation]!.map { MessageKey(conversation, $0) }
            var dated = keys.map { receipts[$0]! }
            ReceiptDates.note(rows, on: &dated)
            for (key, receipt) in zip(keys, dated) { receipts[key] = receipt }
        }
    }

    /// A message by its place.
    struct MessageKey: Hashable {
        let conversation: ConversationID
        let seq: Int64

        init(_ conversation: ConversationID, _ seq: Int64) {
            self.conversation = conversation
            self.seq = seq
        }

        init(_ message: MessageFields) { self.init(message.conversation, message.seq) }
    }
}
