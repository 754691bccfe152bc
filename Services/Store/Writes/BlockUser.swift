import Models
import Postgres
import Slots
import Wire

/// A user blocks another, or ends that, in the slot of the direct conversation of the two, which need not exist.
struct BlockUser: WriteKind {
    struct Input: NamedFields {
        let user: UserInput
        let isBlocked: Parameter<Bool>
        let consent: Parameter<Consent>
    }

    static let statement = PreparedWrite<Input>("block_user", PackageResources.block_user_sql, .store)

    let user: UserID
    let isBlocked: Bool

    func set(_ input: Input, in parameters: inout Parameters, _ limit: ConversationLimit) {
        parameters.set(input.user, to: user)
        parameters.set(input.isBlocked, to: isBlocked)
        parameters.set(input.consent, to: limit.decided(.byOption))
    }

    var subject: UUIDBytes? { UUIDBytes(hashOf: (isBlocked ? "+" : "-") + user.name) }

    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(idOf: write.conversation)
        locks.insert(user: write.actor)
        locks.insert(user: user)
        locks.insert(newStreamOf: write.actor)
        locks.insert(listsOf: write.actor)
    }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .blocked) { fields, change in
            fields.block = .init(user: user, isBlocked: isBlocked, seq: change.detail ?? 0)
        }
    }

    func explanation(of code: Problem.Code) -> String? {
        guard code == .conflict else { return nil }
        return isBlocked
            ? "you have blocked \(ContractLimits.blockedUsers) users, as many as one may, or \(WriteStatement.everyConflict)"
            : """
            you were in the direct conversation \(PutMember.staysLimit) times, as often as one may, or \
            \(WriteStatement.everyConflict)
            """
    }
}
