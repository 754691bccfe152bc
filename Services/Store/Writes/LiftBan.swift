import Models
import Postgres
import Slots
import Wire

/// A removal is no ban any more: whoever may add members may bring the user back.
struct LiftBan: WriteKind {
    struct Input: NamedFields {
        let user: Parameter<UserID>
    }

    static let statement = PreparedWrite<Input>("lift_ban", PackageResources.lift_ban_sql, .store)

    let user: UserID

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.user, to: user)
    }

    var subject: UUIDBytes? { UUIDBytes(hashOf: user.name) }
    var changes: WriteChanges { .none }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlyAdmin
        case .conflict: WriteStatement.everyConflict
        default: nil
        }
    }
}
