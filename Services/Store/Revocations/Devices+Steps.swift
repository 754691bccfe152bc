import Bus
import Bytes
import JSON
import Models
import Postgres
import Reactor
import Wire

/// Revokes the tokens of devices, and reports the moment in force.
extension EndDevices: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [RevocationStatements.end.untyped] }

    /// Exclusive in the slot, so its numbers follow the order of commits.
    func lock(_ locks: inout Locks) { locks.insert(userAlone: user) }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(RevocationStatements.end) { parameters, input in
            parameters.set(input.device.user, to: user)
            parameters.set(input.device.device, to: scope.device.name)
            parameters.set(input.isAllBut, to: scope.isAllBut)
            parameters.set(input.before, to: before)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = RevocationStatements.end.columns
        guard let number = row[columns.number], let before = row[columns.before] else {
            let detail: StaticString = "too many devices were ended one by one: end all others"
            return outcomes.bus.respond(to: command.request, Problem(.conflict, "\(detail)"))
        }
        let revocation = Revocation(number: number, user, before: before, scope)
        if row[columns.isMoved] { outcomes.revocations.moved(revocation) }
        outcomes.bus.respond(to: command.request, status: 200) { revocation.write(to: &$0) }
    }
}

/// Notes a device for the list of its user. Nobody is told.
extension NoteDevice: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [RevocationStatements.note.untyped] }
    static var isBackgroundWork: Bool { true }

    func lock(_ locks: inout Locks) { locks.insert(user: user) }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(RevocationStatements.note) { parameters, input in
            parameters.set(input.user, to: user)
            parameters.set(input.device, to: device.name)
        }
    }

    func finish(_ command: Command, _: StepRows, _ outcomes: CommandOutcomes) {
        outcomes.bus.respond(to: command.request, status: 200) { _ in }
    }
}

extension Queries {
    /// `{devices: [{deviceId, firstSeen, lastSeen, current}]}`
    func devices(_ query: DevicesQuery) async throws -> [UInt8] {
        try await refuseErased(query.user)
        let rows = try await connection.query(RevocationStatements.devices) { $0.set($1, to: query.user) }
        let columns = RevocationStatements.devices.columns
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "devices")
        buffer.beginArray()
        for row in rows {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "deviceId", json: row[columns.device])
            buffer.append(key: "firstSeen", json: row[columns.firstAt])
            buffer.append(key: "lastSeen", json: row[columns.lastAt])
            buffer.append(key: "current", json: row[columns.device] == query.current?.name)
            buffer.endObject()
        }
        buffer.endArray()
        buffer.endObject()
        return buffer.array
    }
}
