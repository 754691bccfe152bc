/// What a message is. The numbers stand in the database.
public enum MessageKind: Int16, CaseIterable, ContractName {
    case text = 1
    case reply = 2
    /// Made by the server, for a change about members or the title.
    case system = 3

    public var name: StaticString {
        switch self {
        case .text: "text"
        case .reply: "reply"
        case .system: "system"
        }
    }
}
