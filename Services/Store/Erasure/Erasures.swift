import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// The erasures of users whose slots this store owns. It drives those in progress, and reports the number of erased
/// users to the edges.
///
/// All state is in the database. A new owner of a slot finds the erasures in progress there and continues them. A
/// former owner may still do so too, which is harmless because every step may be repeated.
@Reactor
final class Erasures {
    /// The interval of announcements: the maximum delay until an edge learns of an erasure whose announcement it
    /// missed.
    private static let announcementInterval = Duration.seconds(1)
    private static let pause = Duration.milliseconds(200)

    private let bus: Bus
    private let slots: OwnedSlots
    private let connection: QueryConnections
    private let log: Log
    private let counting: SlotReading<ErasureStatements.SlotColumns>
    /// The numbers of erased users in the owned slots that have been read so far.
    private var counts: [Slot: Int64] = [:]
    private var driven: Set<UserID> = []
    private var isStopped = false

    /// - Parameter connection: the connection for queries.
    init(bus: Bus, slots: OwnedSlots, connection: QueryConnections, log: Log) {
        self.bus = bus
        self.slots = slots
        self.connection = connection
        self.log = log
        let statement = ErasureStatements.ofSlots
        counting = SlotReading(
            statement, slot: statement.columns.slot, slots: slots, connection: connection, log: log)
        counting.onAcquired = { [weak self] in self?.counts[$0] = nil }
        counting.onRow = { [weak self] in self?.take($0) }
        Reactor.every(Self.announcementInterval) { [weak self] in self?.announceCounts() }
    }

    var underWay: Int { driven.count }

    /// Begins nothing new because the process is about to end. The next owners of the slots continue.
    func stop() { isStopped = true }

    /// Starts to drive an erasure whose request is committed.
    func began(_ user: UserID, _ progress: ErasureProgress) {
        let isNews = progress.number > counts[user.slot] ?? 0
        if isNews, !progress.isDone {
            if progress.number == (counts[user.slot] ?? -1) + 1 { counts[user.slot] = progress.number }
            announce(ErasureEntry(user.slot, count: progress.number, latest: user))
        }
        if !progress.isDone { drive(user) }
    }

    // MARK: Erased users

    private func take(_ row: Row) {
        let columns = ErasureStatements.ofSlots.columns
        let slot = row[columns.slot]
        counts[slot] = max(counts[slot] ?? 0, row[columns.number])
        if let user = row[columns.userId] { drive(user) }
    }

    private func announceCounts() {
        for (slot, count) in counts where slots.contains(slot) { announce(ErasureEntry(slot, count: count)) }
    }

    private func announce(_ entry: ErasureEntry) {
        bus.append(to: .erasure(entry.slot.group)) { entry.write(to: &$0) }
    }

    // MARK: Driving

    private func drive(_ user: UserID) {
        guard driven.insert(user).inserted else { return }
        Reactor.spawn { [self] in
            await finish(user)
            driven.remove(user)
        }
    }

    /// Requests one piece after the other until nothing is left, or the slot has another owner.
    private func finish(_ user: UserID) async {
        let erasure = UserErasure(user, bus: bus, connection: connection)
        while !isStopped, slots.contains(user.slot) {
            do throws(UserErasure.Delay) {
                if try await erasure.advance() { return log.info("user erased") }
            } catch {
                log.warning("an erasure waits", [LogField("reason", error.reason)])
                await Reactor.sleep(for: Self.pause)
            }
        }
    }
}
