import Models
import Postgres

/// A member decides how long the messages stay that are sent from now on.
struct SetLifetime: WriteKind {
    struct Input: NamedFields {
        let seconds: Parameter<Int32>
    }

    static let statement = PreparedWrite<Input>("set_lifetime", PackageResources.set_lifetime_sql, .store)

    /// 0: until somebody deletes them.
    let seconds: UInt32

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.seconds, to: Int32(clamping: seconds))
    }

    var content: WriteContent? { { queries, head in try await queries.conversation(head) } }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlyAdmin
        case .conflict:
            "messages with \(Lifetimes.rangesLimit) lifetimes before this one are still there, or "
                + WriteStatement.everyConflict
        default: nil
        }
    }
}
