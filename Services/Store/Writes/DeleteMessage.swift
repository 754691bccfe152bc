import Models
import Postgres

/// A message goes for everyone.
struct DeleteMessage: WriteKind {
    /// Deletions of one user in a conversation that are remembered until their messages come.
    static let waitingLimit = 100

    static let statement = PreparedWrite<NoFields>("delete_message", PackageResources.delete_message_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .message(.messageDeleted) }
    var changesText: Bool { true }
    var releasesMedia: Bool { true }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlySender
        case .conflict:
            """
            messageId: \(Self.waitingLimit) deletions of messages that have not come are remembered for you in this \
            conversation, or \(WriteStatement.everyConflict)
            """
        default: nil
        }
    }
}
