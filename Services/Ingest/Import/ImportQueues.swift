import Bytes
import Models
import Wire

/// What waits of one conversation of an import: requests for the store and for the receipt service, in their order, of
/// each one at a time in flight.
///
/// Receipts follow the messages that they name, messages do not wait for receipts, and an `end` waits for everything. So
/// a request knows how many of the other kind are to be answered before it. Records that come later join the last
/// waiting one, except behind an `end` that waits for it: the two would wait for each other.
struct ImportQueues {
    enum Destination: CaseIterable {
        case store, receipt

        fileprivate var other: Destination { self == .store ? .receipt : .store }
    }

    /// Records of one conversation, as a request carries them.
    struct Request {
        let conversation: ConversationID
        let destination: Destination
        private(set) var records: [UInt8] = []
        /// The places of their lines among all results.
        private(set) var places: [Int] = []
        /// How many requests to the other destination are answered before it.
        fileprivate var predecessors = 0
        /// Whether nothing more joins it.
        fileprivate var isComplete = false

        fileprivate init(_ conversation: ConversationID, _ destination: Destination) {
            self.conversation = conversation
            self.destination = destination
        }

        var count: Int { places.count }

        func write(to buffer: inout ByteBuffer) {
            switch destination {
            case .store: ImportRecords.writeHead(conversation, count: count, to: &buffer)
            case .receipt: ImportReceipts.writeHead(conversation, count: count, to: &buffer)
            }
            buffer.append(records)
        }

        fileprivate func hasRoom(for bytes: Int, _ bounds: ImportStream.Bounds) -> Bool {
            !isComplete && count < bounds.recordsPerRequest && records.count + bytes <= bounds.bytesPerRequest
        }

        fileprivate mutating func append(_ record: [UInt8], at place: Int, behind predecessors: Int) {
            records += record
            places.append(place)
            self.predecessors = max(self.predecessors, predecessors)
        }
    }

    private struct Queue {
        var waiting: [Request] = []
        var isInFlight = false
        var answered = 0
        /// Whether its turn is noted.
        var isInTurn = false

        var isIdle: Bool { waiting.isEmpty && !isInFlight }
        /// All requests so far.
        var count: Int { answered + (isInFlight ? 1 : 0) + waiting.count }
    }

    private let conversation: ConversationID
    private var store = Queue()
    private var receipt = Queue()

    init(_ conversation: ConversationID) { self.conversation = conversation }

    private subscript(destination: Destination) -> Queue {
        get { destination == .store ? store : receipt }
        _modify {
            if destination == .store { yield &store } else { yield &receipt }
        }
    }

    var isIdle: Bool { store.isIdle && receipt.isIdle }

    mutating func append(_ record: [UInt8], at place: Int, isReceipt: Bool, isEnd: Bool, _ bounds: ImportStream.Bounds)
    {
        let destination = isReceipt ? Destination.receipt : .store
        let waits = isEnd && !receipt.isIdle
        if waits, !receipt.waiting.isEmpty { receipt.waiting[receipt.waiting.count - 1].isComplete = true }
        if waits || self[destination].waiting.last?.hasRoom(for: record.count, bounds) != true {
            self[destination].waiting.append(Request(conversation, destination))
        }
        let predecessors = isReceipt ? store.count : waits ? receipt.count : 0
        let last = self[destination].waiting.count - 1
        self[destination].waiting[last].append(record, at: place, behind: predecessors)
    }

    // MARK: Turns

    /// The destinations that a request may be sent to since the last call.
    mutating func newTurns() -> [Destination] {
        let ready = Destination.allCases.filter { !self[$0].isInTurn && isReady($0) }
        for destination in ready { self[destination].isInTurn = true }
        return ready
    }

    private func isReady(_ destination: Destination) -> Bool {
        guard !self[destination].isInFlight, let first = self[destination].waiting.first else { return false }
        return first.predecessors <= self[destination.other].answered
    }

    /// Takes a request that has its turn; nil if something joined it meanwhile that has to wait.
    mutating func take(_ destination: Destination) -> Request? {
        self[destination].isInTurn = false
        guard isReady(destination) else { return nil }
        self[destination].isInFlight = true
        return self[destination].waiting.removeFirst()
    }

    /// The request in flight has its response.
    mutating func answer(_ destination: Destination) {
        self[destination].isInFlight = false
        self[destination].answered += 1
    }

    mutating func removeWaiting() -> [Request] {
        defer {
            store.waiting = []
            receipt.waiting = []
        }
        return store.waiting + receipt.waiting
    }
}
