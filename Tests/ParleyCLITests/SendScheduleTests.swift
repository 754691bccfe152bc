import TestSupport
import Testing

@testable import ParleyCLI

@Suite struct SendScheduleTests {
    private typealias Item = SendSchedule.Item

    private func drain(_ schedule: inout SendSchedule) -> [Item] {
        var items: [Item] = []
        while let item = schedule.next() { items.append(item) }
        return items
    }

    @Test("conversations take turns, and a reply waits for its parent's acknowledgement")
    func turns() {
        var schedule = SendSchedule(parents: [[nil, 0, nil], [nil, nil]], strictOrder: false)
        let first = drain(&schedule)
        #expect(
            first == [
                Item(conversation: 0, message: 0), Item(conversation: 1, message: 0), Item(conversation: 0, message: 2),
                Item(conversation: 1, message: 1),
            ])
        #expect(schedule.inFlight == 4)
        schedule.acknowledge(first[2])
        #expect(schedule.next() == nil)
        schedule.acknowledge(first[0])
        #expect(schedule.next() == Item(conversation: 0, message: 1))
        #expect(schedule.remaining == 3)
    }

    @Test("in strict order a conversation has one message on its way")
    func strict() {
        var schedule = SendSchedule(parents: [[nil, nil], [nil]], strictOrder: true)
        let first = drain(&schedule)
        #expect(first == [Item(conversation: 0, message: 0), Item(conversation: 1, message: 0)])
        schedule.retry(first[0])
        #expect(schedule.next() == first[0])
        schedule.acknowledge(first[0])
        #expect(schedule.next() == Item(conversation: 0, message: 1))
    }

    @Test("with a message that is given up go all replies to it, sent or not, and the rest goes on")
    func abandoned() {
        var schedule = SendSchedule(parents: [[nil, 0, 1, nil, 0]], strictOrder: false)
        let first = schedule.next()!
        #expect(schedule.abandon(first) == 4)
        #expect(schedule.next() == Item(conversation: 0, message: 3))
        #expect(schedule.next() == nil)
        schedule.acknowledge(Item(conversation: 0, message: 3))
        #expect(schedule.remaining == 0)
    }

    @Test(
        "whatever is acknowledged or fails in whatever order, every message goes out, parents first",
        arguments: UInt64(0)..<200)
    func faultyServer(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let parents = (0..<3).map { _ in
            (0..<30).map { position -> Int? in
                position > 0 && Bool.random(using: &random) ? Int.random(in: 0..<position, using: &random) : nil
            }
        }
        var schedule = SendSchedule(parents: parents, strictOrder: seed % 4 == 0)
        var acknowledged: Set<Item> = []
        var inFlight: [Item] = []
        while schedule.remaining > 0 {
            while inFlight.count < 8, let item = schedule.next() {
                #expect(!acknowledged.contains(item) && !inFlight.contains(item))
                if let parent = parents[item.conversation][item.message] {
                    #expect(acknowledged.contains(Item(conversation: item.conversation, message: parent)))
                }
                inFlight.append(item)
            }
            guard !inFlight.isEmpty else {
                Issue.record("nothing is on its way and nothing may be sent")
                return
            }
            let item = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
            if Int.random(in: 0..<4, using: &random) == 0 {
                schedule.retry(item)
            } else {
                schedule.acknowledge(item)
                acknowledged.insert(item)
            }
        }
        #expect(acknowledged.count == 90)
    }
}
