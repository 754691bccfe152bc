import Models
import Postgres
import Wire

/// Messages of one conversation that one user sent, ascending.
struct SentMessages {
    var conversation: ConversationID
    var seqs: [Int64]
}

// The receipts of a reader's own messages.
extension Queries {
    /// Returns the receipts of the messages that the reader sent, in one round trip for any number of conversations, and
    /// by one statement for all of which there is one message only, as in lists. Large ones take a second round trip, and
    /// a second statement. What is rare takes a further round trip and a statement for each conversation: those that the
    /// reader has left, and dates that are not kept.
    func receipts(of messages: [MessageFields], for reader: UserID) async throws -> [MessageKey: Receipts] {
        let own = messages.filter { $0.hasReceipts(for: reader) }
        guard !own.isEmpty else { return [:] }
        let sent = Dictionary(grouping: own, by: \.conversation).map { conversation, messages in
            SentMessages(conversation: conversation, seqs: messages.map(\.seq).sorted())
        }
        let receipts = try await receipts(of: sent, by: reader)
        var byMessage: [MessageKey: Receipts] = [:]
        for (sent, receipts) in zip(sent, receipts) {
            for (seq, receipt) in zip(sent.seqs, receipts) { byMessage[MessageKey(sent.conversation, seq)] = receipt }
        }
        return byMessage
    }

    /// The same for each of the messages. `listed` holds their recipients, if those were already requested.
    func receipts(
        of sent: [SentMessages], by sender: UserID, _ listed: [Rows]? = nil
    ) async throws -> [[Receipts]] {
        var (receipts, present): ([[Receipts]?], Set<Int>) =
            if let listed {
                (zip(sent, listed).map { count($0, $1) }, [])
            } else {
                try await countInSmallOnes(sent, by: sender)
            }
        try await countForFormer(sent, by: sender, except: present, &receipts)
        try await countInLargeOnes(sent, by: sender, &receipts)
        try await addDates(to: &receipts, of: sent, by: sender)
        return receipts.map { $0 ?? [] }
    }

    private func count(_ messages: SentMessages, _ recipients: Rows) -> [Receipts]? {
        guard RecipientsStatement.isWhole(recipients, limit: recipientLimit) else { return nil }
        return RecipientsStatement.count(recipients, of: messages)
    }

    /// Returns the receipts of messages in small conversations, nil for the others, and the indices of which it is known
    /// that the sender is in the conversation.
    private func countInSmallOnes(
        _ sent: [SentMessages], by sender: UserID
    ) async throws -> (receipts: [[Receipts]?], present: Set<Int>) {
        let (lone, others) = LoneReceipts.split(sent.indices, of: sent)
        var results = try await connection.transaction { batch in
            for index in others {
                RecipientsStatement.add(sent[index].conversation, by: sender, limit: recipientLimit, to: &batch)
            }
            if !lone.isEmpty {
                LoneReceipts.addSmall(lone.map { sent[$0] }, by: sender, limit: recipientLimit, to: &batch)
            }
        }
        let found = lone.isEmpty ? [] : LoneReceipts.found(results.removeLast())
        var receipts: [[Receipts]?] = Array(repeating: nil, count: sent.count)
        for (index, found) in zip(lone, found) { receipts[index] = found.receipts.map { [$0] } }
        for (index, rows) in zip(others, results) { receipts[index] = count(sent[index], rows) }
        return (receipts, Set(zip(lone, found).lazy.filter(\.1.isPresent).map(\.0)))
    }

    /// Fills in the counts that are still nil.
    private func countInLargeOnes(_ sent: [SentMessages], by sender: UserID, _ receipts: inout [[Receipts]?])
        async throws
    {
        let large = sent.indices.filter { receipts[$0] == nil }
        guard !large.isEmpty else { return }
        let (lone, others) = LoneReceipts.split(large, of: sent)
        var results = try await connection.transaction { batch in
            for messages in others.lazy.map({ sent[$0] }) {
                ReceiptCounts.add(messages, by: sender, to: &batch)
                KeptDates.add(messages, to: &batch)
            }
            if !lone.isEmpty { LoneReceipts.addLarge(lone.map { sent[$0] }, by: sender, to: &batch) }
        }
        if !lone.isEmpty {
            for (index, counted) in zip(lone, LoneReceipts.counted(results.removeLast())) {
                receipts[index] = [counted]
            }
        }
        for (place, index) in others.enumerated() {
            let spans = ReceiptCounts.decode(results[2 * place])
            var sums = ReceiptCounts.sum(spans, messageCount: sent[index].seqs.count)
            KeptDates.note(results[2 * place + 1], seqs: sent[index].seqs, on: &sums)
            receipts[index] = sums
        }
    }

    /// Adds the dates that are not kept. It runs after the counts, so every counted recipient has a date.
    private func addDates(to receipts: inout [[Receipts]?], of sent: [SentMessages], by sender: UserID) async throws {
        let lacking = sent.indices.compactMap { index in
            let places = (receipts[index] ?? []).indices.filter { receipts[index]![$0].lacksDate }
            return places.isEmpty ? nil : (index: index, places: places)
        }
        guard !lacking.isEmpty else { return }
        let results = try await connection.transaction { batch in
            for (index, places) in lacking {
                let messages = SentMessages(
                    conversation: sent[index].conversation, seqs: places.map { sent[index].seqs[$0] })
                ReceiptDates.add(messages, by: sender, to: &batch)
            }
        }
        for ((index, places), rows) in zip(lacking, results) {
            var dated = places.map { receipts[index]![$0] }
            ReceiptDates.note(rows, on: &dated)
            for (place, receipt) in zip(places, dated) { receipts[index]![place] = receipt }
        }
    }

    /// Identifies a message by its conversation and position.
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
