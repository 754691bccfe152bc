import Bus
import Bytes
import JSON
import Models
import Postgres
import Reactor
import Wire

// What administrators did. The log has one order: whoever adds to it holds its lock until the commit, so that whoever reads it up to
// a number has all that is before it.

/// Adds an act to the log.
extension RecordAct: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [AuditStatements.record.untyped] }

    func lock(_ locks: inout Locks) { locks.insertAuditLog() }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(AuditStatements.record) { parameters, input in
            parameters.set(input.slot, to: Slot.ofAuditLog)
            parameters.set(input.id, to: id)
            parameters.set(input.administrator, to: administrator)
            parameters.set(input.user, to: user)
            parameters.set(input.call, to: call)
            parameters.set(input.conversation, to: conversation)
            parameters.set(input.target, to: target.isEmpty ? nil : target)
            parameters.set(input.detail, to: detail.isEmpty ? nil : detail)
        }
    }

    func finish(_ command: Command, _: StepRows, _ outcomes: CommandOutcomes) {
        outcomes.bus.respond(to: command.request, status: 200)
    }
}

/// Notes what became of an act.
extension EndAct: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [AuditStatements.end.untyped] }

    func lock(_ locks: inout Locks) { locks.insertAuditLog() }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(AuditStatements.end) { parameters, input in
            parameters.set(input.slot, to: Slot.ofAuditLog)
            parameters.set(input.id, to: id)
            parameters.set(input.status, to: Int16(clamping: status))
        }
    }

    func finish(_ command: Command, _: StepRows, _ outcomes: CommandOutcomes) {
        outcomes.bus.respond(to: command.request, status: 200)
    }
}

extension Queries {
    /// `{acts, more}`
    func acts(_ query: ActsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(AuditStatements.page) { parameters, input in
            parameters.set(input.place, to: .ofAuditLog, after: query.after)
            // One more row shows whether there are more.
            parameters.set(input.limit, to: Int64(query.limit) + 1)
        }
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "acts")
        buffer.beginArray()
        for row in rows.prefix(Int(query.limit)) {
            buffer.beginElement()
            buffer.append(act: row)
        }
        buffer.endArray()
        buffer.append(key: "more", json: rows.count > Int(query.limit))
        buffer.endObject()
        return buffer.array
    }
}

extension ByteBuffer {
    /// `{number, at, administratorId, userId?, call, conversationId?, target?, detail?, status?}`
    fileprivate mutating func append(act row: Row) {
        let columns = AuditStatements.page.columns
        beginObject()
        append(key: "number", json: row[columns.number])
        append(key: "at", json: row[columns.at])
        append(key: "administratorId", json: row[columns.administratorId])
        append(key: "userId", json: row[columns.userId])
        append(key: "call", json: row[columns.call])
        append(key: "conversationId", json: row[columns.conversationId])
        append(key: "target", json: row[columns.target])
        append(key: "detail", json: row[columns.detail])
        append(key: "status", json: row[columns.status].map(Int64.init))
        endObject()
    }
}
