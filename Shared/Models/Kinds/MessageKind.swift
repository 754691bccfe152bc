/// The kind of a message. The numbers are used in the database.
public enum MessageKind: Int16, CaseIterable, ContractName {
    case text = 1
    case reply = 2
    /// A message made by the server, for a change of the members or the title.
    case system = 3
    /// What its sender has encrypted. The server does not look into it.
    case sealed = 4

    public var name: StaticString {
        switch self {
        case .text: "text"
        case .reply: "reply"
        case .system: "system"
        case .sealed: "sealed"
        }
    }
}
