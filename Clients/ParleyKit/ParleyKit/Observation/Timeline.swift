import Models
import ParleyStorage
import ParleySync
import Synchronization

/// Where a timeline begins.
public enum TimelineStart: Hashable, Sendable {
    /// With the newest messages, as many as named.
    case newest(Int = 50)
    /// Around a message, such as one that a search has found.
    case around(MessageID)
    /// Around the first message that the user has not read; with the newest if there is none.
    case unread
}

/// A window of a conversation's messages, as one state after the other. What is missing in the copy is loaded.
///
/// The window grows when it is extended, up to 300 messages; then it moves, so that it costs the same everywhere in a long
/// history.
public final class Timeline: AsyncSequence, Sendable {
    public typealias Element = TimelineUpdate
    public typealias AsyncIterator = Updates<Element>.AsyncIterator

    private let conversation: ConversationID
    private let observation: ObservationContext
    private let state: Mutex<State>

    private struct State {
        var window: TimelineWindow
        /// The message to begin at, until its position is known.
        var target: MessageID?
        var beginsUnread: Bool
        var isBegun = false
        /// What the user had not read when the timeline was opened.
        var unread: Range<Int64> = 0..<0
        var gaps = RepeatedGap()
        var edges = TimelineWindow.Edges()
        var signals: [WeakSignal] = []
    }

    private struct WeakSignal {
        weak var signal: Signal?
    }

    init(_ start: TimelineStart, of conversation: ConversationID, _ observation: ObservationContext) {
        self.conversation = conversation
        self.observation = observation
        var target: MessageID?
        var window = TimelineWindow.newest(50)
        switch start {
        case .newest(let count): window = .newest(Swift.max(1, count))
        case .around(let message): target = message
        case .unread: break
        }
        state = Mutex(State(window: window, target: target, beginsUnread: start == .unread))
    }

    // MARK: Moving the window

    /// Shows older messages, too.
    public func extendBackward(by count: Int = 50) { move { $0.window.extendBackward(by: count, $0.edges) } }

    /// Shows newer messages, too.
    public func extendForward(by count: Int = 50) { move { $0.window.extendForward(by: count, $0.edges) } }

    /// Shows the messages around another one.
    public func jump(to message: MessageID) { move { $0.target = message } }

    public func jumpToNewest(_ count: Int = 50) {
        move { state in
            state.target = nil
            state.window = .newest(count)
        }
    }

    private func move(_ change: (inout State) -> Void) {
        let signals = state.withLock { state in
            change(&state)
            state.gaps = RepeatedGap()
            return state.signals
        }
        for signal in signals { signal.signal?.raise([.view]) }
    }

    // MARK: Observing

    public func makeAsyncIterator() -> AsyncIterator {
        let signal = observation.hub.signal { [conversation] topic in
            topic == .conversation(conversation) || topic == .connection || topic == .files
        }
        state.withLock { $0.signals = $0.signals.filter { $0.signal != nil } + [WeakSignal(signal: signal)] }
        let observer = Observer<Element>(signal: signal, in: observation) { [self] last, topics in
            // What was asked in vain may be had now.
            if !topics.isDisjoint(with: [.connection, .everything]) { state.withLock { $0.gaps = RepeatedGap() } }
            return try await update(last)
        }
        return AsyncIterator { await observer.next() }
    }

    private func update(_ last: Element?) async throws -> Element? {
        try await findBeginning()
        let (page, isUnknown, user, isRequest) = try await page()
        if isRequest { await show(isNew: last == nil) }
        if let gap = page.gap, state.withLock({ $0.gaps.isWorthAsking(gap) }) {
            await observation.engine.look(.history(conversation, gap))
        }
        await observation.show(page.rows.flatMap(\.people))
        // A request has one at the same place each time that something was written.
        if page.gap == nil { state.withLock { $0.gaps = RepeatedGap() } }
        let firstUnread = page.first(in: state.withLock { $0.unread }, notBy: user)
        let update = Element(
            page, after: last, firstUnread: firstUnread, isLoading: page.gap != nil || isUnknown)
        return update.isNews(after: last) ? update : nil
    }

    /// A request is read again while it is shown.
    private func show(isNew: Bool) async {
        if isNew { await observation.engine.look(.again(conversation)) }
        await observation.engine.shows(.again(conversation))
    }

    private func page() async throws -> (TimelinePage, isUnknown: Bool, user: UserID?, isRequest: Bool) {
        let id = conversation
        while true {
            let window = state.withLock { $0.window }
            let result = try await observation.reader.read { store throws(StorageError) in
                (
                    try store.timeline(of: id, window), isUnknown: try store.isUnknown(id), user: try store.userId(),
                    isRequest: try store.isRequest(id)
                )
            }
            let isDone = state.withLock { state in
                // It may have been moved meanwhile; then it is read again anyway.
                guard state.window == window else { return true }
                state.window.take(result.0, after: state.edges)
                state.edges = TimelineWindow.Edges(result.0)
                return state.window.isAsLarge(as: window)
            }
            if isDone { return result }
        }
    }

    /// Finds the position where the timeline begins, once.
    private func findBeginning() async throws {
        let (target, isBegun, beginsUnread) = state.withLock { ($0.target, $0.isBegun, $0.beginsUnread) }
        let id = conversation
        if !isBegun {
            let known = try await observation.reader.read { store throws(StorageError) in try store.conversation(id) }
            guard let known else { return }
            state.withLock { state in
                let readSeq = Swift.max(known.readSeq, known.clearedSeq)
                state.isBegun = true
                state.unread = readSeq + 1..<Swift.max(readSeq, known.lastSeq) + 1
                if beginsUnread, known.unreadCount > 0 { state.window = .around(readSeq + 1) }
            }
        }
        guard let target else { return }
        let seq = try await observation.position(of: target, in: id)
        state.withLock { state in
            guard state.target == target else { return }
            state.target = nil
            state.window = seq.map { .around($0) } ?? .newest(50)
        }
    }
}

extension ObservationContext {
    /// The position of a message; nil if it is on its way, or gone. A message that is not in the copy is loaded.
    fileprivate func position(of message: MessageID, in id: ConversationID) async throws -> Int64? {
        let stored = try await reader.read { store throws(StorageError) in try store.message(message, in: id)?.seq }
        if let stored { return stored }
        do throws(ParleyError) {
            let loaded = try await engine.ask(.message(message, in: id))
            try await engine.keep([.message(loaded)])
            return loaded.seq
        } catch {
            return nil
        }
    }
}

/// Asks for the same gap only so often: a page that the server gives and that does not close it would be asked for for
/// ever.
private struct RepeatedGap {
    private var last: HistoryPlace?
    private var count = 0

    mutating func isWorthAsking(_ gap: HistoryPlace) -> Bool {
        count = gap == last ? count + 1 : 1
        last = gap
        return count <= 10
    }
}

/// A state of a timeline, and what is different from the state before.
public struct TimelineUpdate: Hashable, Sendable {
    /// Ascending; what is on its way comes last, in the order of writing.
    public var rows: [TimelineRow]
    public var difference: ListDifference<MessageID>
    /// Whether there is more before these rows, or after them. `extendBackward` and `extendForward` show it.
    public var hasMoreBefore: Bool
    public var hasMoreAfter: Bool
    /// Something that belongs here is not in the copy, and asked for. It comes when the server can be reached.
    public var isLoading: Bool
    /// The first row that the user had not read when the timeline was opened.
    public var firstUnread: MessageID?

    fileprivate init(_ page: TimelinePage, after last: Self?, firstUnread: MessageID?, isLoading: Bool) {
        rows = page.rows
        difference = ListDifference(from: last?.rows ?? [], to: page.rows)
        hasMoreBefore = page.hasMoreBefore
        hasMoreAfter = page.hasMoreAfter
        self.isLoading = isLoading
        self.firstUnread = last?.firstUnread ?? firstUnread
    }

    fileprivate func isNews(after last: Self?) -> Bool {
        guard let last else { return true }
        return !difference.isEmpty || hasMoreBefore != last.hasMoreBefore || hasMoreAfter != last.hasMoreAfter
            || isLoading != last.isLoading || firstUnread != last.firstUnread
    }
}

extension TimelineRow {
    /// Those whom a timeline shows with it.
    fileprivate var people: [UserID?] {
        [message.senderId, parent?.senderId, message.event?.userId] + message.mentions
    }
}
