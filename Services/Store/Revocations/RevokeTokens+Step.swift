import Bus
import Models
import Postgres
import Reactor
import Wire

/// Revokes a user's tokens, and reports the moment in force.
extension RevokeTokens: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [RevocationStatements.revoke.untyped] }

    /// Exclusive in the slot, so its numbers follow the order of commits.
    func lock(_ locks: inout Locks) { locks.insert(userAlone: user) }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) { RevocationStatements.add(self, to: &batch) }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = RevocationStatements.revoke.columns
        let revocation = Revocation(number: row[columns.number], user, before: row[columns.before])
        if row[columns.isMoved] { outcomes.revocations.moved(revocation) }
        outcomes.bus.respond(to: command.request, status: 200) { revocation.write(to: &$0) }
    }
}
