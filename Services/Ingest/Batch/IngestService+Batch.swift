import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

extension IngestService {
    /// Sends the messages of each conversation as one request, and responds when the last of these has a result.
    func sendBatch(_ body: UnsafeRawBufferPointer, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let items = try BatchItems(body, limits: limits).items
        _ = try pay(exchange, items: items.count)
        let batch = Batch(count: items.count, exchange)
        let messages = read(items, into: batch)
        guard !batch.outcome.groups.isEmpty else { return batch.end() }
        guard load.hasRoom(requests: batch.outcome.groups.count, bytes: body.count) else { throw .processOverloaded }
        for (number, group) in batch.outcome.groups.enumerated() {
            // The body is counted once, with the first group.
            let size = number == 0 ? body.count : 0
            let fields = group.positions.lazy.compactMap { messages[$0] }
            guard fields.allSatisfy(\.isPlain) else {
                send(
                    WholeMessages(fields, to: group.conversation, by: user), in: group.conversation.slot,
                    of: user, size: size, weight: group.positions.count, exchange,
                    completion: { batch.receive($0, for: number) })
                continue
            }
            request(
                .sendMessages, in: group.conversation.slot, size: size, weight: group.positions.count, exchange,
                fields: { buffer in
                    SendMessages.writeHead(group.conversation, user, count: group.positions.count, to: &buffer)
                    for message in fields { message.write(to: &buffer) }
                },
                completion: { batch.receive($0, for: number) })
        }
    }

    /// Reads the items. An invalid item is nil, and refused alone.
    private func read(_ items: [UnsafeRawBufferPointer], into batch: Batch) -> [MessageFields?] {
        let now = Timestamp.now
        return items.enumerated().map { position, item in
            do throws(Problem) {
                let message = try MessageFields(item, limits: limits, now: now)
                guard message.forward == nil else {
                    throw Problem(.notForwardable, "forward: a batch sends no forwarded messages")
                }
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

/// A batch whose groups are in flight.
@Reactor
private final class Batch {
    var outcome: BatchOutcome
    private let exchange: Exchange
    private var completedGroups = 0

    init(count: Int, _ exchange: Exchange) {
        outcome = BatchOutcome(count: count)
        self.exchange = exchange
    }

    func receive(_ result: Result<BusResponse, Problem>, for group: Int) {
        switch result {
        case .success(let response): outcome.receive(response, for: group)
        case .failure(let problem): outcome.fail(group, problem)
        }
        completedGroups += 1
        if completedGroups == outcome.groups.count { end() }
    }

    func end() {
        var body = ByteBuffer(capacity: 4096)
        outcome.write(to: &body)
        exchange.respond(200, json: body)
    }
}
