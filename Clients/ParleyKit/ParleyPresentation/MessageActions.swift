import Models
import ParleyStorage

/// What a user can do to a message.
public enum MessageAction: CaseIterable, Hashable, Sendable {
    case reply, forward, edit, copy, tapback, vote, closePoll, pin, unpin, deleteForMe, deleteForEveryone, report
    /// Sends a message again that the server refused, or gives it up.
    case retry, discard
}

/// Why an action is not possible, to be told to the user.
public enum ActionRefusal: Hashable, Sendable {
    case anotherSender
    case ownMessage
    /// The time for edits is over since then.
    case editWindowClosed(Timestamp)
    case deleted
    case systemMessage
    /// The server does not have it yet.
    case notSent
    case formerMember
    /// The group leaves writing to others.
    case mayNotWrite(Open<PermittedRoles>)
    /// Messages with files cannot be replied to here.
    case withFiles
    /// The application alone can open it, and write it anew.
    case sealed
    /// Its options were chosen for its question.
    case poll
    case noPoll, pollClosed
    /// It shows that somebody else wrote it.
    case forwarded
    /// It is pinned already, or is not.
    case pinned(Bool)
    /// There is nothing to send again or to give up.
    case notFailed

    public var text: String {
        switch self {
        case .anotherSender: "Only its sender can do that."
        case .ownMessage: "That is not possible with a message of your own."
        case .editWindowClosed: "Messages can be edited for \(ActionRefusal.editMinutes) minutes."
        case .deleted: "The message was deleted."
        case .systemMessage: "That is not possible with this message."
        case .notSent: "The message is not sent yet."
        case .formerMember: "You are not in this conversation any more."
        case .mayNotWrite(let roles): "Only \(roles == .admins ? "admins" : "owners") can write here."
        case .withFiles: "Messages with files cannot be replied to here."
        case .sealed: "That is not possible with an encrypted message."
        case .poll: "A poll stays as it is."
        case .noPoll: "The message is no poll."
        case .pollClosed: "The poll is closed."
        case .forwarded: "What others wrote cannot be edited."
        case .pinned(let isPinned): isPinned ? "The message is pinned." : "The message is not pinned."
        case .notFailed: "The message did not fail."
        }
    }

    private static let editMinutes = ContractLimits.editWindow.components.seconds / 60
}

/// What one user can do to one message now, and until when. The server has the last word.
public struct MessageActions: Sendable {
    private let message: Message
    private let state: TimelineRow.State
    private let viewer: UserID
    private let isMember: Bool
    private let leads: Bool
    private let writingRefusal: ActionRefusal?
    private let repliesToAttachments: Bool
    private let now: Timestamp

    /// - Parameters:
    ///   - isMember: whether the viewer is in the conversation now.
    ///   - leads: whether the viewer is an owner or an admin of the group.
    ///   - writingRefusal: the conversation's.
    ///   - repliesToAttachments: as `Parley.repliesToAttachments` says.
    ///   - now: by the server's clock, as far as it is known.
    public init(
        _ row: TimelineRow, viewer: UserID, isMember: Bool = true, leads: Bool = false,
        writingRefusal: ActionRefusal? = nil,
        repliesToAttachments: Bool = false, now: Timestamp
    ) {
        message = row.message
        state = row.state
        self.viewer = viewer
        self.isMember = isMember
        self.leads = leads
        self.writingRefusal = writingRefusal
        self.repliesToAttachments = repliesToAttachments
        self.now = now
    }

    public var allowed: [MessageAction] { MessageAction.allCases.filter { refusal(of: $0) == nil } }

    /// Nil if the action is possible.
    public func refusal(of action: MessageAction) -> ActionRefusal? {
        if action == .copy { return message.text == nil ? textless : nil }
        if !message.isSpoken { return .systemMessage }
        if action == .discard || action == .retry { return isFailed ? nil : .notFailed }
        // Whoever sees it.
        if action == .report {
            return message.senderId == viewer ? .ownMessage : message.deletedForEveryone ? .deleted : nil
        }
        // What the server does not have is the user's alone.
        if action == .forward { return forwardRefusal }
        if !isMember, !isFailed { return .formerMember }
        switch action {
        case .reply: return replyRefusal
        case .tapback: return message.deletedForEveryone ? .deleted : isStored ? nil : .notSent
        case .edit: return editRefusal
        case .vote: return pollRefusal
        case .closePoll: return pollRefusal ?? (message.senderId == viewer || leads ? nil : .anotherSender)
        case .pin: return message.pinned == nil ? pinRefusal : .pinned(true)
        case .unpin: return message.pinned == nil ? .pinned(false) : pinRefusal
        case .deleteForMe: return isFailed ? .notSent : nil
        case .deleteForEveryone:
            if message.deletedForEveryone { return .deleted }
            return message.senderId != viewer ? .anotherSender : isFailed ? .notSent : nil
        case .forward, .copy, .retry, .discard, .report: return nil
        }
    }

    /// The end of the time in which the viewer can edit it; nil if they cannot, and for what is not sent, which can
    /// always be edited.
    public var editableUntil: Timestamp? {
        guard isStored, refusal(of: .edit) == nil else { return nil }
        return message.editWindowEnd
    }

    private var editRefusal: ActionRefusal? {
        if message.senderId != viewer { return .anotherSender }
        if message.deletedForEveryone { return .deleted }
        if message.kind == .sealed { return .sealed }
        if message.kind == .poll { return .poll }
        if message.forwarded != nil { return .forwarded }
        if !isStored { return nil }
        return message.isEditable(by: viewer, at: now) ? writingRefusal : .editWindowClosed(message.editWindowEnd)
    }

    private var pollRefusal: ActionRefusal? {
        if message.deletedForEveryone { return .deleted }
        guard let poll = message.poll else { return .noPoll }
        return !isStored ? .notSent : poll.closedAt != nil ? .pollClosed : nil
    }

    /// Whoever sees it, in this conversation or not any more.
    private var forwardRefusal: ActionRefusal? {
        if message.deletedForEveryone { return .deleted }
        if message.kind == .sealed { return .sealed }
        if message.kind == .poll { return .poll }
        return isStored ? nil : .notSent
    }

    private var pinRefusal: ActionRefusal? {
        if message.deletedForEveryone { return .deleted }
        return isStored ? writingRefusal : .notSent
    }

    private var replyRefusal: ActionRefusal? {
        if message.deletedForEveryone { return .deleted }
        if message.kind == .sealed { return .sealed }
        if isFailed { return .notSent }
        if let writingRefusal { return writingRefusal }
        return message.attachments != nil && !repliesToAttachments ? .withFiles : nil
    }

    private var textless: ActionRefusal {
        message.deletedForEveryone ? .deleted : message.kind == .sealed ? .sealed : .systemMessage
    }

    private var isStored: Bool { state == .stored }

    private var isFailed: Bool { if case .failed = state { true } else { false } }
}

extension Message {
    fileprivate var editWindowEnd: Timestamp {
        Timestamp(milliseconds: createdAt.milliseconds + ContractLimits.editWindow.components.seconds * 1000)
    }

    /// Whether a user sees no text of it any more: it was deleted for everyone, or by that user for themselves.
    ///
    /// - Parameter hidden: what the user deleted for themselves. A copy of the user's own does not have these messages.
    public func isDeleted(for user: UserID, hidden: [UserID: Set<MessageID>] = [:]) -> Bool {
        deletedForEveryone || hidden[user]?.contains(id) ?? false
    }
}
