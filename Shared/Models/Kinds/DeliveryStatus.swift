/// How far a message got, as shown to its sender. Each state includes the ones before it.
public enum DeliveryStatus: CaseIterable, ContractName {
    /// No status: the message is another's, or a system message. Never in JSON.
    case none
    /// Committed.
    case sent
    /// One device of every recipient has the message.
    case delivered
    /// Every recipient has read it.
    case read

    public static var contractCases: [Self] { [.sent, .delivered, .read] }

    public var name: StaticString {
        switch self {
        case .none: "none"
        case .sent: "sent"
        case .delivered: "delivered"
        case .read: "read"
        }
    }
}
