import Models
import ParleyStorage

/// A message as a screen shows it.
public struct Bubble: Hashable, Sendable, Identifiable {
    public enum Content: Hashable, Sendable {
        /// Empty where there are only files.
        case text(String)
        /// Deleted for everyone.
        case deleted
        /// What happened in the conversation, in words.
        case event(String)
        /// What its sender has encrypted, which the application alone can open (`Message.sealed`).
        case sealed
        /// Of a kind that this version does not know.
        case unknown

        /// What is written there.
        public var text: String {
            switch self {
            case .text(let text), .event(let text): text
            case .deleted: "Message deleted"
            case .sealed: Message.sealedTitle
            case .unknown: "This message needs a newer version"
            }
        }
    }

    public var id: MessageID { row.id }
    public var row: TimelineRow
    public var content: Content
    /// The files of the message, below its text.
    public var files: [FileLabel]
    public var isOwn: Bool
    /// The day that begins with this message.
    public var day: String?
    /// Whether it is the first, or the last, of several messages of one sender.
    public var startsRun: Bool
    public var endsRun: Bool
    public var isEdited: Bool
    /// Whether it is pinned for everybody in the conversation.
    public var isPinned: Bool
    /// Who wrote a forwarded message, in words.
    public var origin: String?
    public var reference: ReplyReference?
    public var decorations: [Decoration]

    /// What is shown beside an edited message.
    public static let editedMark = "Edited"
    /// What is shown beside a pinned one.
    public static let pinnedMark = "Pinned"
}

/// The parent of a reply, as shown above it. There is none where the parent is gone.
public struct ReplyReference: Hashable, Sendable {
    public var messageId: MessageID
    /// Nil where it is the sender of the reply.
    public var sender: UserID?
    /// The first 50 characters of its text; nil until it is loaded.
    public var preview: String?

    static let previewLength = 50

    init?(_ row: TimelineRow) {
        guard let parent = row.parent, !row.message.deletedForEveryone else { return nil }
        messageId = parent.id
        sender = parent.senderId == row.message.senderId ? nil : parent.senderId
        preview = parent.preview.map {
            HarmlessText.line(String($0.prefix(Self.previewLength)), limit: Self.previewLength)
        }
    }
}

/// Makes bubbles of rows.
public struct BubbleMaker: Sendable {
    public var viewer: UserID
    public var times: LocalTimes
    public var decorators: DecoratorRegistry
    /// The name that is shown for a user, in the texts of events.
    public var name: @Sendable (UserID) -> String

    /// A pause as long as this begins a new run.
    private static let longestPause: Int64 = 10 * 60 * 1000

    public init(
        viewer: UserID, times: LocalTimes = LocalTimes(), decorators: DecoratorRegistry = .standard,
        name: @escaping @Sendable (UserID) -> String = \.name
    ) {
        self.viewer = viewer
        self.times = times
        self.decorators = decorators
        self.name = name
    }

    /// - Parameters:
    ///   - rows: ascending, as a timeline has them.
    ///   - receipts: of the viewer's own messages, as far as they are known.
    ///   - tapped: the messages that the user asked more of.
    public func bubbles(
        _ rows: [TimelineRow], receipts: [MessageID: MessageReceipts] = [:], tapped: Set<MessageID> = [],
        now: Timestamp
    ) -> [Bubble] {
        let lastSent = rows.last { $0.state == .stored && $0.message.isSent(by: viewer) }?.id
        return rows.indices.map { index in
            let row = rows[index]
            let previous = index > 0 ? rows[index - 1] : nil
            let next = index + 1 < rows.count ? rows[index + 1] : nil
            let context = DecoratorContext(
                isLastSentMessage: row.id == lastSent, isLastMessage: next == nil,
                conversationId: row.message.conversationId, viewer: viewer, receipts: receipts[row.id],
                isTapped: tapped.contains(row.id), times: times)
            return Bubble(
                row: row, content: content(of: row.message),
                files: row.message.deletedForEveryone ? [] : (row.message.attachments ?? []).map(FileLabel.init),
                isOwn: row.message.senderId == viewer,
                day: day(of: row, after: previous, now: now), startsRun: !continuesRun(row, after: previous),
                endsRun: next.map { !continuesRun($0, after: row) } ?? true,
                isEdited: row.message.editedAt != nil && !row.message.deletedForEveryone,
                isPinned: row.message.pinned != nil,
                origin: row.message.forwarded.map { "Forwarded from \(HarmlessText.line(name($0.userId)))" },
                reference: ReplyReference(row),
                decorations: decorators.decorations(of: row.message, context: context))
        }
    }

    private func day(of row: TimelineRow, after previous: TimelineRow?, now: Timestamp) -> String? {
        if let previous, times.day(previous.message.createdAt) == times.day(row.message.createdAt) { return nil }
        return times.dayName(row.message.createdAt, now: now)
    }

    private func continuesRun(_ row: TimelineRow, after previous: TimelineRow?) -> Bool {
        guard let previous, previous.message.isSpoken, row.message.isSpoken else { return false }
        let (one, other) = (previous.message, row.message)
        return one.senderId == other.senderId
            && other.createdAt.milliseconds - one.createdAt.milliseconds < Self.longestPause
            && times.day(one.createdAt) == times.day(other.createdAt)
    }

    private func content(of message: Message) -> Bubble.Content {
        if message.deletedForEveryone { return .deleted }
        switch message.kind {
        case .known(.text), .known(.reply): return .text(HarmlessText.lines(message.text ?? ""))
        case .known(.poll): return .text(Self.lines(of: message))
        case .known(.system): return message.event.map { .event(text(of: $0, by: message.senderId)) } ?? .unknown
        case .known(.sealed): return .sealed
        case .unknown: return .unknown
        }
    }

    /// The question, a line for each option, and how many have voted.
    private static func lines(of message: Message) -> String {
        guard let poll = message.poll else { return HarmlessText.lines(message.text ?? "") }
        let options = poll.options.enumerated().map { place, option in
            let isChosen = poll.vote?.options.contains(place) ?? false
            return "\(isChosen ? "●" : "○") \(place + 1) \(HarmlessText.line(option.text)) · \(option.votes)"
        }
        let sum = "\(poll.voters) \(poll.voters == 1 ? "vote" : "votes")" + (poll.closedAt == nil ? "" : ", closed")
        return ([HarmlessText.lines(message.text ?? "")] + options + [sum]).joined(separator: "\n")
    }

    private func text(of event: SystemEvent, by actor: UserID) -> String {
        let who = actor == viewer ? "You" : name(actor)
        let whom = event.userId.map { $0 == viewer ? "you" : name($0) } ?? "somebody"
        return switch event.kind {
        case .known(.memberAdded): event.userId == actor ? "\(who) joined" : "\(who) added \(whom)"
        case .known(.memberRemoved): event.userId == actor ? "\(who) left" : "\(who) removed \(whom)"
        case .known(.memberChanged): "\(who) changed the role of \(whom)"
        case .known(.conversationRenamed):
            event.title.map { "\(who) named the conversation “\(HarmlessText.line($0))”" }
                ?? "\(who) removed the conversation's name"
        case .unknown: "\(who) changed the conversation"
        }
    }
}

extension Message {
    fileprivate func isSent(by user: UserID) -> Bool { isSpoken && senderId == user && !deletedForEveryone }
}

/// What a list shows of a conversation's last message.
public enum MessagePreview {
    /// - Parameter naming: the sender's name is put before the text, for groups; one's own is "You" in any case.
    public static func line(
        of message: Message, viewer: UserID, naming: Bool, maker: BubbleMaker, limit: Int = 100
    ) -> String {
        let bubble = maker.bubbles([TimelineRow(message: message)], now: message.createdAt)[0]
        let isTextless = bubble.content == .text("")
        let shown = isTextless ? message.previewText ?? "" : bubble.content.text
        let text = HarmlessText.line(shown, limit: limit)
        if case .event = bubble.content { return text }
        if message.senderId == viewer { return "You: \(text)" }
        return naming ? "\(maker.name(message.senderId)): \(text)" : text
    }
}
