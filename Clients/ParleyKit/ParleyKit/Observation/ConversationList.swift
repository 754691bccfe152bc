import Models
import ParleyStorage
import Synchronization

/// The list of conversations, the pinned ones first, then those with the latest activity, as one state after the other.
public final class ConversationList: AsyncSequence, Sendable {
    public typealias Element = ConversationListUpdate
    public typealias AsyncIterator = Updates<Element>.AsyncIterator

    private let observation: ObservationContext
    private let folder: ConversationFolder
    private let limit: Mutex<Int>
    private let signals = Mutex<[WeakSignal]>([])
    /// Conversations of which more was asked for, as what the copy has of them is not shown.
    private let asked = Mutex<Set<ConversationID>>([])

    private struct WeakSignal {
        weak var signal: Signal?
    }

    init(_ folder: ConversationFolder, limit: Int, _ observation: ObservationContext) {
        self.folder = folder
        self.limit = Mutex(limit)
        self.observation = observation
    }

    /// Shows more.
    public func extend(by count: Int = 50) {
        limit.withLock { $0 += count }
        for signal in signals.withLock({ $0 }) { signal.signal?.raise([.view]) }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        let signal = observation.hub.signal { topic in
            switch topic {
            case .conversation, .members, .draft: true
            default: false
            }
        }
        signals.withLock { $0 = $0.filter { $0.signal != nil } + [WeakSignal(signal: signal)] }
        let observer = Observer<Element>(signal: signal, in: observation) { [self] last, topics in
            try await update(last, topics)
        }
        return AsyncIterator { await observer.next() }
    }

    /// Reads the order anew, and of the rows those that may have changed.
    private func update(_ last: Element?, _ topics: Set<Topic>) async throws -> Element? {
        let limit = limit.withLock { $0 }
        let known = topics.contains(.everything) ? [:] : last?.unchangedRows(topics) ?? [:]
        let now = observation.clock.timestamp
        let (rows, hasMore, hidden) = try await observation.reader.read { [folder] store throws(StorageError) in
            let (rows, hasMore) = try store.list(folder, at: now, limit: limit, known: known)
            return (rows, hasMore, try store.withoutShownMessages(rows))
        }
        for id in hidden where asked.withLock({ $0.insert(id).inserted }) {
            await observation.engine.look(.history(id, .newest))
        }
        // Whose conversation it is, is known from its members.
        for row in rows where row.conversation.kind == .direct && row.counterpart == nil && known[row.id] == nil {
            await observation.engine.look(.members(row.id))
        }
        await observation.show(rows.flatMap(\.people))
        let difference = ListDifference(from: last?.rows ?? [], to: rows)
        guard let last else { return Element(rows: rows, difference: difference, hasMore: hasMore) }
        guard !difference.isEmpty || last.hasMore != hasMore else { return nil }
        return Element(rows: rows, difference: difference, hasMore: hasMore)
    }
}

/// A state of the list, and what is different from the state before.
public struct ConversationListUpdate: Hashable, Sendable {
    public var rows: [ConversationRow]
    public var difference: ListDifference<ConversationID>
    /// Whether there are more conversations than these.
    public var hasMore: Bool

    fileprivate func unchangedRows(_ topics: Set<Topic>) -> [ConversationID: ConversationRow] {
        var rows = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        for topic in topics {
            switch topic {
            case .conversation(let id), .members(let id), .draft(let id): rows[id] = nil
            default: break
            }
        }
        return rows
    }
}

extension ConversationRow {
    /// Those whom a list shows with it.
    var people: [UserID?] { [counterpart, preview?.message.senderId, preview?.message.event?.userId] }
}
