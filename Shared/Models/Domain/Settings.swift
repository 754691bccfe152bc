/// What a user decided about themselves: what is in force.
public struct Settings: Hashable, Sendable, Codable {
    /// Whether others learn how far the user has read, where nothing else was decided for a conversation.
    public var readReceipts: Bool
    /// Whether others learn when the user is online and was last seen, and the user when others are.
    public var presence: Bool

    public init(readReceipts: Bool, presence: Bool) {
        self.readReceipts = readReceipts
        self.presence = presence
    }
}

/// What a user decided for one conversation: what is in force.
public struct SettingsInConversation: Hashable, Sendable, Codable {
    /// Whether the others in this conversation learn how far the user has read.
    public var readReceipts: Bool
    /// The settings that follow the user's own: without a decision here they change with those.
    public var inherited: [Open<InheritedSetting>]

    public init(readReceipts: Bool, inherited: [InheritedSetting]) {
        self.readReceipts = readReceipts
        self.inherited = inherited.map(Open.known)
    }
}

/// A setting of a conversation that may follow the user's own.
public enum InheritedSetting: CaseIterable, ContractName {
    case readReceipts

    public var name: StaticString {
        switch self {
        case .readReceipts: "readReceipts"
        }
    }
}
