import Models
import Postgres

/// A message goes for one user alone.
struct HideMessage: WriteKind {
    static let statement = PreparedWrite<NoFields>("hide_message", PackageResources.hide_message_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .none }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .messageHidden) { fields, _ in fields.message = message }
    }
}
