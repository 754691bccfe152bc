/// How far a message got, as its sender is told. Each state includes the ones before it.
public enum DeliveryStatus: CaseIterable, ContractName {
    /// Nothing is told: another's message, or a system message. Never in JSON.
    case none
    /// Committed.
    case sent
    /// One device of every recipient has it.
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
