/// What an administrator has taken from a user for a time.
public struct Suspension: Hashable, Sendable, Codable {
    public var mode: Open<SuspensionMode>
    /// When it ends by itself. Absent: when an administrator lifts it.
    public var until: Timestamp?
    /// Shown to administrators alone.
    public var reason: String?
    /// When it was put as it is.
    public var since: Timestamp

    public init(mode: SuspensionMode, until: Timestamp? = nil, reason: String? = nil, since: Timestamp) {
        self.mode = .known(mode)
        self.until = until
        self.reason = reason
        self.since = since
    }
}

/// What a suspended user may do. The numbers are stored, and travel on the bus.
public enum SuspensionMode: UInt8, CaseIterable, ContractName {
    /// They read, and do nothing that others would see.
    case readOnly = 1
    /// Every request and session of theirs is refused.
    case out = 2
    /// They do what they did, and are not told. Whoever they bring into a conversation from now on hears nothing of it.
    case unheard = 3

    public var name: StaticString {
        switch self {
        case .readOnly: "readOnly"
        case .out: "out"
        case .unheard: "unheard"
        }
    }
}
