import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Reports revoked tokens, of users and of devices, and suspended users to the edges: each revocation at once, and the last number of each
/// owned slot every second.
@Reactor
final class Revocations {
    /// The maximum delay until an edge learns of a revocation whose announcement it missed.
    private static let announcementInterval = Duration.seconds(1)

    private let bus: Bus
    private let slots: OwnedSlots
    private let counting: SlotReading<RevocationStatements.SlotColumns>
    /// The last numbers of the owned slots that have been read so far.
    private var numbers: [Slot: Int64] = [:]

    /// - Parameter connection: the connection for queries.
    init(bus: Bus, slots: OwnedSlots, connection: QueryConnections, log: Log) {
        self.bus = bus
        self.slots = slots
        let statement = RevocationStatements.ofSlots, columns = statement.columns
        counting = SlotReading(
            statement, slot: columns.slot, slots: slots, connection: connection, log: log)
        counting.onAcquired = { [weak self] in self?.numbers[$0] = nil }
        counting.onRow = { [weak self] row in self?.hold(row[columns.number], of: row[columns.slot]) }
        Reactor.every(Self.announcementInterval) { [weak self] in self?.announceNumbers() }
    }

    /// Announces a committed revocation.
    func moved(_ revocation: Revocation) { moved(.tokens(revocation)) }

    /// Announces a committed revocation or suspension.
    func moved(_ revocation: ListedRevocation) {
        hold(revocation.number, of: revocation.user.slot)
        announce(RevocationEntry(revocation))
    }

    private func hold(_ number: Int64, of slot: Slot) { numbers[slot] = max(numbers[slot] ?? 0, number) }

    /// A slot without revocations has no number to announce.
    private func announceNumbers() {
        for (slot, number) in numbers where number > 0 && slots.contains(slot) {
            announce(RevocationEntry(slot, number: number))
        }
    }

    private func announce(_ entry: RevocationEntry) {
        bus.append(to: .revocation(entry.slot.group)) { entry.write(to: &$0) }
    }
}

extension Queries {
    /// Returns the last number and the revocations after the given one.
    func revocations(_ query: RevocationsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(RevocationStatements.behind) { parameters, input in
            parameters.set(input, to: query.slot, after: query.after)
        }
        var buffer = ByteBuffer()
        buffer.append(bigEndian: rows.first.map { $0[RevocationStatements.behind.columns.lastNumber] } ?? 0)
        for row in rows { query.shown(row)?.write(to: &buffer) }
        return buffer.array
    }
}

extension RevocationsQuery {
    /// What the asker gets of a row. What it does not know of is one that applies to no token, so that it has all numbers.
    fileprivate func shown(_ row: Row) -> ListedRevocation? {
        let columns = RevocationStatements.behind.columns
        guard let number = row[columns.number] else { return nil }
        let user = row[columns.userId]
        func nothing() -> ListedRevocation {
            .tokens(Revocation(number: number, user, before: Timestamp(milliseconds: 0)))
        }
        guard let before = row[columns.before] else {
            guard knowsSuspensions else { return nothing() }
            let mode = row[columns.mode].flatMap { SuspensionMode(rawValue: UInt8($0)) }
            return .suspension(HeldSuspension(number: number, user, mode, until: row[columns.until]))
        }
        var revocation = Revocation(number: number, user, before: before)
        if let device = row[columns.device].flatMap(DeviceID.init), let isAllBut = row[columns.isAllBut] {
            guard knowsDevices else { return nothing() }
            revocation.scope = DeviceScope(device, isAllBut: isAllBut)
        }
        return .tokens(revocation)
    }
}
