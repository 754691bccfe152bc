/// The settings in force for a user.
public struct Settings: Hashable, Sendable, Codable {
    /// Whether others see how far the user has read, unless a conversation has its own setting.
    public var readReceipts: Bool
    /// Whether others see when the user is online and was last seen, and the user sees the same of others.
    public var presence: Bool

    public init(readReceipts: Bool, presence: Bool) {
        self.readReceipts = readReceipts
        self.presence = presence
    }
}

/// The settings in force for a user in one conversation.
public struct SettingsInConversation: Hashable, Sendable, Codable {
    /// Whether the others in this conversation see how far the user has read.
    public var readReceipts: Bool
    /// The settings that follow the user's own. Without a choice here they change with those.
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
