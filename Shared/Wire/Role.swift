/// The kinds of processes on the bus, and who listens to whom.
public enum Role: String, CaseIterable, Sendable {
    case ingest, store, receipt, fanout

    /// Whose frames a process of this role takes.
    public var listensTo: [Role] {
        switch self {
        case .ingest: [.store, .receipt]
        case .store: [.ingest, .receipt, .fanout, .store]
        case .receipt: [.ingest, .fanout, .store]
        case .fanout: [.store, .receipt, .fanout]
        }
    }

    /// Who may hear what a process of this role says.
    public var listeners: [Role] { Role.allCases.filter { $0.listensTo.contains(self) } }
}

extension Topic {
    /// Whether a process of this role has anything to say about the topic. What others say about it is not heard.
    public func mayBePublished(by role: Role) -> Bool {
        switch self {
        case .command: true
        case .receiptCommand: role == .ingest || role == .fanout || role == .store
        case .answer: role == .store || role == .receipt
        case .change, .privateChange, .digest, .erasure, .revocation: role == .store
        case .status, .receiptDigest: role == .receipt
        case .ephemeral: role == .fanout
        }
    }

    /// Who answers requests of this topic.
    public var answerer: Role? {
        switch self {
        case .command: .store
        case .receiptCommand: .receipt
        default: nil
        }
    }
}

extension StoreRequestKind {
    /// Clients reach the store through `ingest` alone. `fanout` may only catch up with its streams, `receipt` only tell how
    /// far users have read, `store` only ask others for the steps of an erasure. A sender of unknown role (see
    /// `Bus.follow`) may ask everything.
    public func mayBeAsked(by role: Role?) -> Bool {
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
    /// Both edges take receipts of clients. Only `fanout` follows their streams, only `store` erases.
    public func mayBeAsked(by role: Role?) -> Bool {
        switch role {
        case nil: true
        case .fanout: self != .erase
        case .ingest: self == .signal
        case .store: self == .erase
        case .receipt: false
        }
    }
}
