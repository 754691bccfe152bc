/// What a user is called and looks like to those who share a conversation with them.
public struct Profile: Hashable, Sendable, Codable {
    public var userId: UserID
    /// Grows with every change. 0: there is none that the caller may read.
    public var version: Int64
    public var displayName: String?
    /// An absolute URL of the scheme https.
    public var avatarUrl: String?
    /// The application's own.
    public var extra: [String: JSONValue]?

    public init(
        userId: UserID, version: Int64, displayName: String? = nil, avatarUrl: String? = nil,
        extra: [String: JSONValue]? = nil
    ) {
        self.userId = userId
        self.version = version
        self.displayName = displayName
        self.avatarUrl = avatarUrl
        self.extra = extra
    }
}

/// Those of the profiles asked for that the caller does not have in this version.
public struct ProfileList: Hashable, Sendable, Codable {
    public var profiles: [Profile]

    public init(profiles: [Profile]) { self.profiles = profiles }
}

/// Who sets profiles, by a deployment's choice.
public enum ProfileWriters: UInt8, CaseIterable, ContractName {
    case users = 1
    case backend = 2
    case both = 3

    public var name: StaticString {
        switch self {
        case .users: "users"
        case .backend: "backend"
        case .both: "both"
        }
    }
}
