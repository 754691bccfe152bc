import Models

/// Which messages of a conversation a timeline shows, and how that moves.
package enum TimelineWindow: Hashable, Sendable {
    case newest(Int)
    /// Messages up to a position, and after it.
    case from(Int64, before: Int, after: Int)

    /// More are not held at once.
    package static let mostRows = 300

    package static func around(_ seq: Int64) -> Self { .from(seq, before: 25, after: 25) }

    /// What the last read showed.
    package struct Edges: Hashable, Sendable {
        var first: Int64?
        var last: Int64?
        var count = 0

        package init() {}

        package init(_ page: TimelinePage) {
            let stored = page.rows.filter { $0.message.seq > 0 }
            first = stored.first?.message.seq
            last = stored.last?.message.seq
            count = stored.count
        }
    }

    package mutating func extendBackward(by count: Int, _ edges: Edges) {
        switch self {
        case .newest(let shown) where shown + count <= Self.mostRows: self = .newest(shown + count)
        default:
            guard let first = edges.first else { return }
            // The row at the position belongs to those before.
            self = .from(first, before: count + 1, after: min(edges.count, Self.mostRows - count) - 1)
        }
    }

    package mutating func extendForward(by count: Int, _ edges: Edges) {
        guard case .from = self, let last = edges.last else { return }
        self = .from(last, before: min(edges.count, Self.mostRows - count), after: count)
    }

    /// Follows what was read: a window that has reached the end stays there, and what comes pushes nothing out of it.
    package mutating func take(_ page: TimelinePage, after earlier: Edges) {
        let edges = Edges(page)
        switch self {
        case .newest(let count):
            guard let last = earlier.last, edges.count >= count else { return }
            let came = page.rows.count { $0.message.seq > last }
            if came > 0, count + came <= Self.mostRows { self = .newest(count + came) }
        case .from:
            if !page.hasMoreAfter, page.gap == nil { self = .newest(max(50, edges.count)) }
        }
    }

    /// Whether another read would show no more.
    package func isAsLarge(as other: Self) -> Bool {
        if case .newest(let count) = self, case .newest(let earlier) = other { count <= earlier } else { true }
    }
}

extension TimelinePage {
    /// The first message of these positions by somebody else, if what comes before it is shown, too.
    package func first(in positions: Range<Int64>, notBy user: UserID?) -> MessageID? {
        guard let first = rows.first?.message.seq, first > 0, first <= positions.lowerBound || !hasMoreBefore else {
            return nil
        }
        return rows.first {
            positions.contains($0.message.seq) && $0.message.senderId != user && $0.message.kind != .system
        }?.id
    }
}

extension LocalStore {
    package func timeline(of id: ConversationID, _ window: TimelineWindow) throws(StorageError) -> TimelinePage {
        switch window {
        case .newest(let count): try timeline(of: id, .newest, limit: count)
        case .from(let seq, let before, let after): try timeline(of: id, around: seq, before: before, after: after)
        }
    }

    /// Whether the server has not told of the conversation yet.
    package func isUnknown(_ id: ConversationID) throws(StorageError) -> Bool {
        guard try outbox(of: id).allSatisfy({ $0.write.kind != "create" }) else { return false }
        return try conversation(id) == nil
    }
}
