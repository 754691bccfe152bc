import Bus
import Bytes
import JSON
import Models
import Postgres
import Reactor
import Wire

/// Suspends a user or lifts their suspension, and reports the one in force.
extension SuspendUser: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [RevocationStatements.suspend.untyped] }

    /// Exclusive in the slot, so its numbers follow the order of commits.
    func lock(_ locks: inout Locks) { locks.insert(userAlone: user) }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(RevocationStatements.suspend) { parameters, input in
            parameters.set(input.user, to: user)
            parameters.set(input.mode, to: Int16(mode?.rawValue ?? 0))
            parameters.set(input.until, to: until)
            parameters.set(input.reason, to: reason.isEmpty ? nil : reason)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = RevocationStatements.suspend.columns
        if mode != nil, row[columns.isErased] {
            return outcomes.bus.respond(to: command.request, Problem(.conflict, "the user was erased"))
        }
        guard let number = row[columns.number], let mode = row[columns.mode] else {
            return outcomes.bus.respond(to: command.request, status: 200) { _ in }
        }
        let held = HeldSuspension(
            number: number, user, SuspensionMode(rawValue: UInt8(mode)), until: row[columns.until])
        if row[columns.isMoved] { outcomes.revocations.moved(.suspension(held)) }
        outcomes.bus.respond(to: command.request, status: 200) { held.write(to: &$0) }
    }
}

extension Queries {
    /// `{mode, until?, reason?, since}`
    func suspension(_ query: SuspensionQuery) async throws -> [UInt8] {
        let rows = try await connection.query(RevocationStatements.suspension) { $0.set($1, to: query.user) }
        let columns = RevocationStatements.suspension.columns
        guard let row = rows.first, let mode = SuspensionMode(rawValue: UInt8(row[columns.mode])) else {
            throw Problem(.notFound, "the user is not suspended")
        }
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "mode", json: mode.name)
        buffer.append(key: "until", json: row[columns.until])
        buffer.append(key: "reason", json: row[columns.reason])
        buffer.append(key: "since", json: row[columns.since])
        buffer.endObject()
        return buffer.array
    }
}
