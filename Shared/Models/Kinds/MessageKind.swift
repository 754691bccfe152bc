/// The kind of a message. The numbers are used in the database.
public enum MessageKind: Int16, CaseIterable, ContractName {
    case text = 1
    case reply = 2
    /// A message made by the server, for a change of the members or the title.
    case system = 3
    /// What its sender has encrypted. The server does not look into it.
    case sealed = 4
    /// A question with options, of which members choose. Its text is the question.
    case poll = 5

    public var name: StaticString {
        switch self {
        case .text: "text"
        case .reply: "reply"
        case .system: "system"
        case .sealed: "sealed"
        case .poll: "poll"
        }
    }
}
