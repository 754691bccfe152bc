/// What a user has reported to the administrators: a message, a person, or both.
///
/// Administrators get all of it; whoever made it, what they gave.
public struct Report: Hashable, Sendable, Codable, Identifiable {
    public var id: ReportID
    public var conversationId: ConversationID
    public var messageId: MessageID?
    /// Nil: no person was named, or they were erased.
    public var userId: UserID?
    public var reason: Open<ReportReason>
    public var text: String?
    public var createdAt: Timestamp
    /// Nil: they were erased.
    public var reporterId: UserID?
    /// The message as its reporter saw it. Nil: none was reported, or its sender was erased.
    public var message: Copy?
    /// Nil: it is open.
    public var resolution: Resolution?

    public struct Copy: Hashable, Sendable, Codable {
        public var senderId: UserID
        /// Nil: it had none, or was deleted.
        public var text: String?
        /// When the message was stored.
        public var createdAt: Timestamp
        public var attachmentIds: [MediaID]?
        /// Of a poll.
        public var options: [String]?
        /// The application's own fields.
        public var extra: [String: JSONValue]?
    }

    /// What an administrator did about it.
    public struct Resolution: Hashable, Sendable, Codable {
        public var action: Open<ReportAction>
        public var note: String?
        /// The user that the administrator's token names.
        public var resolvedBy: UserID
        public var resolvedAt: Timestamp
    }
}

/// A page of reports of all conversations, the earliest first.
public struct ReportPage: Hashable, Sendable, Codable {
    public var reports: [Report]
    /// Nil: there are no more.
    public var nextCursor: String?
}

/// Why something is reported. The numbers are stored, and travel on the bus.
public enum ReportReason: UInt8, CaseIterable, ContractName {
    case spam = 1
    case harassment = 2
    case violence = 3
    case sexual = 4
    case selfHarm = 5
    case illegal = 6
    case other = 7

    public var name: StaticString {
        switch self {
        case .spam: "spam"
        case .harassment: "harassment"
        case .violence: "violence"
        case .sexual: "sexual"
        case .selfHarm: "selfHarm"
        case .illegal: "illegal"
        case .other: "other"
        }
    }
}

/// What was done about a report. The numbers are stored, and travel on the bus.
public enum ReportAction: UInt8, CaseIterable, ContractName {
    case none = 1
    /// The message was deleted for everyone.
    case deleted = 2
    /// The person was removed from the conversation.
    case removed = 3
    case suspended = 4
    case erased = 5

    public var name: StaticString {
        switch self {
        case .none: "none"
        case .deleted: "deleted"
        case .removed: "removed"
        case .suspended: "suspended"
        case .erased: "erased"
        }
    }
}
