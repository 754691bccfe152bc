import Models
import Postgres

/// A member decides how long the messages stay that are sent from now on.
struct SetLifetime: WriteKind {
    struct Input: NamedFields {
        let seconds: Parameter<Int32>
        let fromReading: Parameter<Bool>
    }

    static let statement = PreparedWrite<Input>("set_lifetime", PackageResources.set_lifetime_sql, .store)

    /// 0: until somebody deletes them.
    let seconds: UInt32
    let start: LifetimeStart

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.seconds, to: Int32(clamping: seconds))
        parameters.set(input.fromReading, to: start == .reading && seconds > 0)
    }

    var content: WriteContent? { { queries, head in try await queries.conversation(head) } }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: WriteStatement.onlyAdmin
        case .tooLarge:
            "from: in a conversation with more than \(ContractLimits.readingLifetimeMembers) members only sending"
        case .conflict:
            "messages with \(Lifetimes.rangesLimit) lifetimes before this one are still there, or "
                + WriteStatement.everyConflict
        default: nil
        }
    }
}
