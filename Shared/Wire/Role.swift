/// The roles of processes on the bus, and which roles subscribe to which.
public enum Role: String, CaseIterable, Sendable {
    case ingest, store, receipt, fanout, media

    /// The roles that a process of this role subscribes to.
    public var listensTo: [Role] {
        switch self {
        case .ingest: [.store, .receipt, .media]
        case .store: [.ingest, .receipt, .fanout, .store, .media]
        case .receipt: [.ingest, .fanout, .store, .receipt]
        case .fanout: [.store, .receipt, .fanout]
        case .media: [.ingest, .store]
        }
    }

    /// The roles that may subscribe to a process of this role.
    public var listeners: [Role] { Role.allCases.filter { $0.listensTo.contains(self) } }

    /// Whether a system works without processes of this role: without `media` there are no attachments.
    public var isOptional: Bool { self == .media }
}

extension Topic {
    /// Whether a process of this role may publish the topic. Frames from other roles are refused.
    public func mayBePublished(by role: Role) -> Bool {
        switch self {
        case .command: true
        case .receiptCommand: role == .ingest || role == .fanout || role == .store || role == .receipt
        case .mediaCommand: role == .ingest || role == .store
        case .response, .served: role == .store || role == .receipt || role == .media
        case .change, .privateChange, .digest, .erasure, .revocation: role == .store
        case .status, .receiptDigest: role == .receipt
        case .ephemeral: role == .fanout || role == .store
        }
    }

    /// The role that responds to requests of this topic.
    public var responder: Role? {
        switch self {
        case .command: .store
        case .receiptCommand: .receipt
        case .mediaCommand: .media
        default: nil
        }
    }
}

extension StoreRequestKind: RequestKind {
    /// The roles that may make this request. Clients reach the store through `ingest` only.
    public var askers: Set<Role> {
        switch self {
        case .createConversation, .sendMessages, .sendWithAttachments, .sendWhole, .sendSealed, .sendPoll,
            .sendForwarded, .write,
            .putSettings,
            .revokeTokens,
            .endDevices, .suspendUser, .recordAct, .endAct,
            .importRecords, .dropImport, .putProfile,
            .eraseUser:
            [.ingest]
        case .readMoved: [.receipt]
        case .noteDevice: [.fanout]
        case .eraseStep, .expireMessages, .sendScheduled, .trimHistory: [.store]
        case .listConversations, .conversation, .members, .history, .message, .changes, .revisions, .tapbacks, .sync,
            .settings, .conversationSettings, .receipts, .search, .digest, .unreadTotal, .blocks, .profiles, .requests,
            .bans, .joinRequests, .invitations, .invitation, .devices, .suspension, .reports, .report, .acts,
            .pinnedMessages, .mentions, .scheduled, .votes, .writtenMessages, .forwardSource,
            .exportedConversations, .exportHead, .exportPage, .exportReceipts:
            [.ingest]
        case .bootstrap, .replay, .privateReplay, .positions, .senderCounts: [.fanout]
        case .erasedUsers, .revocations: [.fanout, .ingest, .media]
        case .mayReadAttachment: [.media]
        case .statement: [.store]
        case .userRows: [.store, .receipt]
        }
    }

    public static let askerTable = AskerTable(Self.self, \.askers)
}

extension ReceiptRequestKind: RequestKind {
    /// The roles that may make this request. Both edges accept receipts from clients.
    public var askers: Set<Role> {
        switch self {
        case .signal: [.fanout, .ingest]
        case .seen, .status, .positions, .lastSeen: [.fanout]
        case .importReceipts, .dropReceipts: [.ingest]
        case .erase: [.store]
        // On Citus.
        case .peers, .seenPeers, .forgetSeen: [.receipt]
        }
    }

    public static let askerTable = AskerTable(Self.self, \.askers)
}

extension MediaRequestKind: RequestKind {
    /// The roles that may make this request. Clients reach `media` by HTTP, with the bytes of their files.
    public var askers: Set<Role> {
        switch self {
        case .attach, .copy: [.ingest]
        case .release, .erase: [.store]
        }
    }

    public static let askerTable = AskerTable(Self.self, \.askers)
}

/// A kind of request to one of the services.
public protocol RequestKind: RawRepresentable<UInt8>, CaseIterable {
    /// The roles that may make this request.
    var askers: Set<Role> { get }
    static var askerTable: AskerTable { get }
}

extension RequestKind {
    /// Whether a role may make this request. A sender of unknown role (see `Bus.follow`) may make every one.
    public func mayBeRequested(by role: Role?) -> Bool { Self.askerTable.allows(role, rawValue) }

    /// Throws for a request of no known kind, and for one that its sender may not make.
    public init(of entry: RequestEntry, from sender: Role?) throws(WireError) {
        guard let kind = Self(rawValue: entry.kind), kind.mayBeRequested(by: sender) else {
            throw .unknownValue(field: "request kind", UInt64(entry.kind))
        }
        self = kind
    }
}

/// The roles that may make each kind of request. Every request is looked up, and a `Set` would be made for each.
public struct AskerTable: Sendable {
    /// By number of the kind.
    private var roles = [UInt8](repeating: 0, count: 1 + Int(UInt8.max))

    init<Kind: CaseIterable & RawRepresentable<UInt8>>(_: Kind.Type, _ askers: (Kind) -> Set<Role>) {
        for kind in Kind.allCases {
            for role in askers(kind) { roles[Int(kind.rawValue)] |= role.bit }
        }
    }

    func allows(_ role: Role?, _ kind: UInt8) -> Bool {
        guard let role else { return true }
        return roles[Int(kind)] & role.bit != 0
    }
}

extension Role {
    fileprivate var bit: UInt8 {
        switch self {
        case .ingest: 1
        case .store: 2
        case .receipt: 4
        case .fanout: 8
        case .media: 16
        }
    }
}
