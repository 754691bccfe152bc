/// Decides which message of a replay may be sent next.
///
/// A reply waits for the acknowledgement of its parent, because the server refuses replies to unknown messages.
/// Otherwise messages go in the order of the file, several of a conversation at once. In strict order, each waits for
/// the acknowledgement of the previous one. Conversations take turns.
struct SendSchedule {
    struct Item: Hashable, Sendable {
        let conversation: Int
        let message: Int
    }

    fileprivate struct Lane {
        let parents: [Int?]
        var next = 0
        /// Replies whose parents have been acknowledged, and messages to be sent again.
        var ready: [Int] = []
        var waiting: [Int: [Int]] = [:]
        var isAcknowledged: [Bool]
        var inFlight = 0
    }

    private var lanes: [Lane]
    private let isStrict: Bool
    private var turn = 0
    /// The number of messages neither acknowledged nor abandoned.
    private(set) var remaining: Int
    private(set) var inFlight = 0

    /// - Parameter parents: per conversation and message, the index of its parent, which is smaller.
    init(parents: [[Int?]], strictOrder: Bool) {
        lanes = parents.map { Lane(parents: $0, isAcknowledged: Array(repeating: false, count: $0.count)) }
        remaining = parents.reduce(0) { $0 + $1.count }
        isStrict = strictOrder
    }

    /// Returns the next message to send, or nil while all remaining ones wait for acknowledgements.
    mutating func next() -> Item? {
        for step in 0..<lanes.count {
            let number = (turn + step) % lanes.count
            guard !(isStrict && lanes[number].inFlight > 0), let message = lanes[number].take() else { continue }
            lanes[number].inFlight += 1
            inFlight += 1
            turn = (number + 1) % lanes.count
            return Item(conversation: number, message: message)
        }
        return nil
    }

    mutating func acknowledge(_ item: Item) {
        land(item)
        remaining -= 1
        lanes[item.conversation].isAcknowledged[item.message] = true
        lanes[item.conversation].ready += lanes[item.conversation].waiting.removeValue(forKey: item.message) ?? []
    }

    /// Schedules a message to be sent again.
    mutating func retry(_ item: Item) {
        land(item)
        lanes[item.conversation].ready.insert(item.message, at: 0)
    }

    /// Gives up a message and all replies to it, because it will never be acknowledged.
    ///
    /// - Returns: the number of messages given up.
    mutating func abandon(_ item: Item) -> Int {
        land(item)
        let count = lanes[item.conversation].abandon(item.message)
        remaining -= count
        return count
    }

    private mutating func land(_ item: Item) {
        lanes[item.conversation].inFlight -= 1
        inFlight -= 1
    }
}

extension SendSchedule.Lane {
    fileprivate mutating func take() -> Int? {
        if !ready.isEmpty { return ready.removeFirst() }
        while next < parents.count {
            let message = next
            next += 1
            guard let parent = parents[message], !isAcknowledged[parent] else { return message }
            waiting[parent, default: []].append(message)
        }
        return nil
    }

    /// Counts the message and its replies. Replies not reached yet are left where nothing wakes them.
    fileprivate mutating func abandon(_ message: Int) -> Int {
        var abandoned: Set<Int> = [message]
        for reply in parents.indices.dropFirst(message + 1) {
            if let parent = parents[reply], abandoned.contains(parent) { abandoned.insert(reply) }
        }
        return abandoned.count
    }
}
