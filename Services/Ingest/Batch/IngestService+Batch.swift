import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

extension IngestService {
    /// Sends the messages of each conversation as one request, and answers when the last of them is answered.
    func sendBatch(_ body: UnsafeRawBufferPointer, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let items = try BatchItems(body, limits: limits).items
        _ = try pay(exchange, items: items.count)
        let batch = Batch(count: items.count, exchange)
        let messages = read(items, into: batch)
        guard !batch.outcome.groups.isEmpty else { return batch.end() }
        guard load.hasRoom(requests: batch.outcome.groups.count, bytes: body.count) else { throw .tooMuchToDo }
        for (number, group) in batch.outcome.groups.enumerated() {
            // The body is counted once, with the first group.
            ask(
                .sendMessages, in: group.conversation.slot, size: number == 0 ? body.count : 0,
                weight: group.positions.count, exchange,
                fields: { buffer in
                    SendMessages.writeHead(group.conversation, user, count: group.positions.count, to: &buffer)
                    for position in group.positions { messages[position]?.write(to: &buffer) }
                },
                answered: { batch.answered(number, $0) })
        }
    }

    /// The items that are messages; those that are not are refused, each alone.
    private func read(_ items: [UnsafeRawBufferPointer], into batch: Batch) -> [MessageFields?] {
        let now = Timestamp.now
        return items.enumerated().map { position, item in
            do throws(Problem) {
                let message = try MessageFields(item, limits: limits, now: now)
                guard let conversation = message.conversation else { throw .missing("conversationId") }
                batch.outcome.add(position, to: conversation)
                return message
            } catch {
                batch.outcome.refuse(position, error)
                return nil
            }
        }
    }
}

/// A batch that waits for the answers to its groups.
@Reactor
private final class Batch {
    var outcome: BatchOutcome
    private let exchange: Exchange
    private var answeredGroups = 0

    init(count: Int, _ exchange: Exchange) {
        outcome = BatchOutcome(count: count)
        self.exchange = exchange
    }

    func answered(_ group: Int, _ result: Result<Answer, Problem>) {
        switch result {
        case .success(let answer): outcome.answered(group, answer)
        case .failure(let problem): outcome.failed(group, problem)
        }
        answeredGroups += 1
        if answeredGroups == outcome.groups.count { end() }
    }

    func end() {
        var body = ByteBuffer(capacity: 4096)
        outcome.write(to: &body)
        exchange.answer(200, json: body)
    }
}
