import Models
import Reactor
import Wire

/// How far stores have come with the commands of this process, from which follows whether one that has no response yet
/// is lost or waits its turn.
///
/// A store takes commands in the order in which they arrive. So while it responds, but only to commands that were
/// published earlier, the command is still in its queue, however long that is. A guess that is wrong costs a repetition
/// more, or one that comes later: the store falls silent, or responds to a later command, soon after a loss.
struct CommandProgress {
    private struct Store {
        /// When the latest of the commands that it has responded to was published first.
        var reached: MonotonicTime
        var heard: MonotonicTime
    }

    /// Of stores that were not heard from for so long nothing is kept.
    private static let memory = Duration.seconds(60)

    private var stores: [Instance: Store] = [:]
    /// The store that responded last, for each slot and for all.
    private var storeOfSlot: [Instance?] = Array(repeating: nil, count: Slot.count)
    private var latest: Instance?

    mutating func add(from sent: MonotonicTime, to now: MonotonicTime, in slot: Slot, by store: Instance) {
        storeOfSlot[Int(slot.number)] = store
        latest = store
        if stores[store] == nil { stores = stores.filter { now - $0.value.heard < Self.memory } }
        stores[store] = Store(reached: max(sent, stores[store]?.reached ?? sent), heard: now)
    }

    /// Whether a command that was published at `sent` waits in the queue of a store that was heard from within `time`.
    /// The commands of one turn may arrive in another order.
    func isWaiting(
        since sent: MonotonicTime, in slot: Slot, heardWithin time: Duration, at now: MonotonicTime
    ) -> Bool {
        guard let store = (storeOfSlot[Int(slot.number)] ?? latest).flatMap({ stores[$0] }) else { return false }
        return store.reached < sent + TimerWheel.tick && now - store.heard < time
    }
}
