import Glibc
import Reactor
import TestSupport

/// A whole system in one process: what happens, when, and with what probability. Everything follows from the seed.
///
/// The services are real, from the reactor's timers up. The clock, the bus, PostgreSQL, the clients and their
/// connections are simulated.
@Reactor
final class World {
    var random: SeededRandom
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private var agenda: [Appointment] = []
    private var appointments: UInt64 = 0
    let mutation: Mutation?
    /// Whether faults occur on their own.
    var isFaulty = true
    /// The broken promises, in words. Empty in a correct system.
    private(set) var violations: [String] = []

    init(seed: UInt64, mutation: Mutation? = nil) {
        random = SeededRandom(seed: seed)
        self.mutation = mutation
    }

    func violated(_ what: String) {
        if violations.count < 5 { violations.append("\(what) (at \(elapsed))") }
    }

    /// Whether events are printed, to find the cause of a failure (`PARLEY_TRACE=1`).
    private let isTraced = getenv("PARLEY_TRACE") != nil

    func note(_ what: @autoclosure () -> String) { if isTraced { print("\(elapsed): \(what())") } }

    var elapsed: Duration { now - MonotonicTime(nanoseconds: 1_000_000_000_000) }

    // MARK: Chance

    func chance(_ probability: Double) -> Bool {
        probability > 0 && Double(random.next() >> 11) * 0x1p-53 < probability
    }

    /// Whether a fault happens. Never true once the world has healed.
    func fault(_ probability: Double) -> Bool { isFaulty && chance(probability) }

    func pick(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    func microseconds(_ range: ClosedRange<Int>) -> Duration { .microseconds(pick(range)) }
    func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(pick(range)) }

    // MARK: Time

    private struct Appointment {
        let time: MonotonicTime
        let number: UInt64
        let body: @Reactor () -> Void

        func precedes(_ other: Appointment) -> Bool {
            time == other.time ? number < other.number : time < other.time
        }
    }

    func after(_ delay: Duration, _ body: @escaping @Reactor () -> Void) { at(now + delay, body) }

    func at(_ time: MonotonicTime, _ body: @escaping @Reactor () -> Void) {
        appointments += 1
        agenda.append(Appointment(time: max(time, now), number: appointments, body: body))
        var child = agenda.count - 1
        while child > 0, agenda[child].precedes(agenda[(child - 1) / 2]) {
            agenda.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    func run(for duration: Duration) {
        let end = now + duration
        while let next = agenda.first, next.time <= end {
            removeFirst()
            now = next.time
            next.body()
        }
        now = end
    }

    private func removeFirst() {
        agenda.swapAt(0, agenda.count - 1)
        agenda.removeLast()
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < agenda.count && agenda[child].precedes(agenda[first]) {
                first = child
            }
            if first == parent { return }
            agenda.swapAt(parent, first)
            parent = first
        }
    }

    /// Drops all pending events and every participant. Releasing a participant may schedule further events.
    func end() {
        while !agenda.isEmpty {
            let forgotten = agenda
            agenda = []
            withExtendedLifetime(forgotten) {}
        }
    }
}

/// Mutations that the simulation must detect. Each breaks something outside the services that a promise relies on.
enum Mutation: String, CaseIterable {
    /// No digests arrive, so a change whose announcement is lost stays lost.
    case digestsAreLost
    /// A new slot owner keeps its predecessor's epoch, so changes that were never announced stay unknown.
    case epochsStay
    /// A commit is reported and then lost, as with `synchronous_commit=off`.
    case commitsAreLost
    /// A repeated send stores the message again.
    case repetitionsAreStored
    /// Two writers take the same position.
    case positionsAreShared
    /// Horizons are set instead of advanced.
    case horizonsAreSet
    /// A write is done again when repeated under its key.
    case keysAreForgotten
    /// A write without a key is done again when its request is repeated on the bus.
    case requestsAreForgotten
    /// A deletion of a message that does not exist yet is forgotten.
    case earlyDeletionsAreForgotten
    /// Deleted messages can be edited.
    case deletedMessagesAreEditable
    /// Deleted messages can be replied to.
    case deletedMessagesAreReplyable
    /// A deletion leaves the text in place.
    case deletedTextsStay
    /// Hiding a message leaves it visible.
    case hiddenMessagesStay
    /// An edit leaves no record of the previous text.
    case revisionsAreLost
    /// A user's new tapback does not replace the previous one.
    case tapbacksAddUp
    /// A former member is sent later texts.
    case textsAreOfNow
    /// Others see what a user reads even if the user does not want that.
    case settingsAreIgnored
}

/// Delivery times on an ordered connection.
struct Line {
    private var last = MonotonicTime(nanoseconds: 0)

    mutating func arrival(_ time: MonotonicTime) -> MonotonicTime {
        last = max(last, time)
        return last
    }
}
