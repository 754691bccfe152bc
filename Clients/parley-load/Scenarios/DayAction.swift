import Models

/// One of the actions of the users.
enum DayAction: String, CaseIterable {
    case write, writeToGroup, writeToRoom, scroll, listConversations, sync, tapback, edit, delete, type, comeAndGo

    /// The share of this action, in percent.
    fileprivate var weight: Int {
        switch self {
        case .write: 45
        case .writeToGroup: 18
        case .writeToRoom: 1
        case .scroll: 10
        case .listConversations: 5
        case .sync: 3
        case .tapback: 6
        case .edit: 3
        case .delete: 1
        case .type: 6
        case .comeAndGo: 2
        }
    }

    var isMessage: Bool { [.write, .writeToGroup, .writeToRoom].contains(self) }

    /// Whether this status is acceptable given concurrent actions: a deleted message can be neither edited nor reacted
    /// to.
    func mayEnd(in status: Int) -> Bool {
        switch self {
        case .tapback, .edit: status == 200 || status == 409
        case .delete: status == 204
        default: status == 200 || status == 201
        }
    }

    /// Returns the request for an action on a message.
    func write(of message: MessageID, in path: String) -> (method: StaticString, path: String, body: [UInt8]) {
        switch self {
        case .tapback: ("PUT", "\(path)/messages/\(message)/tapback", Array(#"{"kind":"love"}"#.utf8))
        case .edit:
            ("PATCH", "\(path)/messages/\(message)", Array(#"{"text":"on second thoughts, another text"}"#.utf8))
        default: ("DELETE", "\(path)/messages/\(message)?scope=everyone", [])
        }
    }
}

/// What the users do, in proportions.
struct DayMixture {
    private let weighted: [DayAction]

    /// A day, or half of it one action only. The other half are messages to a chat, so that there is something to act on.
    init(only action: DayAction?) {
        weighted =
            action.map { [$0, .write] }
            ?? DayAction.allCases.flatMap { Array(repeating: $0, count: $0.weight) }
    }

    func next(using generator: inout some RandomNumberGenerator) -> DayAction {
        weighted.randomElement(using: &generator)!
    }
}
