import Models
import Postgres

/// A member pins a message for everybody.
struct PinMessage: WriteKind {
    static let statement = PreparedWrite<NoFields>("pin_message", PackageResources.pin_message_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .message(.messagePinned) }
    var content: WriteContent? { messageContent }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlyWriter
        case .conflict:
            "it is deleted or a system message, \(ContractLimits.pinnedMessages) are pinned here, or "
                + WriteStatement.everyConflict
        default: nil
        }
    }
}

/// A member takes a pinned message down.
struct UnpinMessage: WriteKind {
    static let statement = PreparedWrite<NoFields>("unpin_message", PackageResources.unpin_message_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .message(.messageUnpinned) }

    func explanation(of code: Problem.Code) -> String? {
        code == .forbidden ? WriteStatement.onlyWriter : nil
    }
}
