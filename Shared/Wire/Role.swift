/// The roles of processes on the bus, and which roles subscribe to which.
public enum Role: String, CaseIterable, Sendable {
    case ingest, store, receipt, fanout

    /// The roles that a process of this role subscribes to.
    public var listensTo: [Role] {
        switch self {
        case .ingest: [.store, .receipt]
        case .store: [.ingest, .receipt, .fanout, .store]
        case .receipt: [.ingest, .fanout, .store]
        case .fanout: [.store, .receipt, .fanout]
        }
    }

    /// The roles that may subscribe to a process of this role.
    public var listeners: [Role] { Role.allCases.filter { $0.listensTo.contains(self) } }
}

extension Topic {
    /// Whether a process of this role may publish the topic. Frames from other roles are refused.
    public func mayBePublished(by role: Role) -> Bool {
        switch self {
        case .command: true
        case .receiptCommand: role == .ingest || role == .fanout || role == .store
        case .response: role == .store || role == .receipt
        case .change, .privateChange, .digest, .erasure, .revocation: role == .store
        case .status, .receiptDigest: role == .receipt
        case .ephemeral: role == .fanout
        }
    }

    /// The role that responds to requests of this topic.
    public var responder: Role? {
        switch self {
        case .command: .store
        case .receiptCommand: .receipt
        default: nil
        }
    }
}

extension StoreRequestKind {
    /// Whether a role may make this request. Clients reach the store through `ingest` only. `fanout` may only read its
    /// streams, `receipt` only send read positions, `store` only request steps of an erasure. A sender of unknown role
    /// (see `Bus.follow`) may request everything.
    public func mayBeRequested(by role: Role?) -> Bool {
        switch role {
        case nil: true
        case .ingest:
            rawValue < 128 && self != .readMoved && self != .eraseStep || self == .erasedUsers || self == .revocations
        case .fanout: rawValue >= 128
        case .receipt: self == .readMoved
        case .store: self == .eraseStep
        }
    }
}

extension ReceiptRequestKind {
    /// Whether a role may make this request. Both edges accept receipts from clients. Only `fanout` reads the streams,
    /// only `store` erases.
    public func mayBeRequested(by role: Role?) -> Bool {
        switch role {
        case nil: true
        case .fanout: self != .erase
        case .ingest: self == .signal
        case .store: self == .erase
        case .receipt: false
        }
    }
}
