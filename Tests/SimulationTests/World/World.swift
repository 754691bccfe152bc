import Glibc
import Reactor
import TestSupport

/// A whole system in one process: what happens, when, and with what chance. Everything follows from the seed.
///
/// The services are the real ones, from the reactor's timers up. Simulated are the clock, the bus, PostgreSQL, the
/// clients' connections, and the clients.
@Reactor
final class World {
    var random: SeededRandom
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private var agenda: [Appointment] = []
    private var appointments: UInt64 = 0
    let mutation: Mutation?
    /// Whether faults happen by themselves.
    var isFaulty = true
    /// What was broken, in words; nothing in a correct system.
    private(set) var violations: [String] = []

    init(seed: UInt64, mutation: Mutation? = nil) {
        random = SeededRandom(seed: seed)
        self.mutation = mutation
    }

    func violated(_ what: String) {
        if violations.count < 5 { violations.append("\(what) (at \(elapsed))") }
    }

    /// What happens, for who looks for the cause of a failure (`PARLEY_TRACE=1`).
    private let isTraced = getenv("PARLEY_TRACE") != nil

    func note(_ what: @autoclosure () -> String) { if isTraced { print("\(elapsed): \(what())") } }

    var elapsed: Duration { now - MonotonicTime(nanoseconds: 1_000_000_000_000) }

    // MARK: Chance

    func chance(_ probability: Double) -> Bool {
        probability > 0 && Double(random.next() >> 11) * 0x1p-53 < probability
    }

    /// Of faults: never once the world has healed.
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

    /// Forgets what was to happen, and with it everything that takes part. Who goes with it may want something to happen still.
    func end() {
        while !agenda.isEmpty {
            let forgotten = agenda
            agenda = []
            withExtendedLifetime(forgotten) {}
        }
    }
}

/// Something that the simulation must find: each breaks what a promise rests on, in what surrounds the services.
enum Mutation: String, CaseIterable {
    /// No digest arrives: a change whose announcement is lost stays lost.
    case digestsAreLost
    /// Who takes a slot over has the epoch of its predecessor: what that one did not announce stays unknown.
    case epochsStay
    /// A commit is reported and then lost, as with `synchronous_commit=off`.
    case commitsAreLost
    /// A message is stored again when it is sent again.
    case repetitionsAreStored
    /// Two writers take the same position.
    case positionsAreShared
    /// Horizons are set, not moved forward.
    case horizonsAreSet
    /// A write is done again when it is repeated under its key.
    case keysAreForgotten
    /// A write without a key is done again when its request comes again on the bus.
    case requestsAreForgotten
    /// A deletion of what is not there yet is forgotten.
    case earlyDeletionsAreForgotten
    /// What was deleted can be edited.
    case deletedMessagesAreEditable
    /// What was deleted can be replied to.
    case deletedMessagesAreReplyable
    /// A deletion leaves the text …
    case deletedTextsStay
    /// … or hiding the message.
    case hiddenMessagesStay
    /// An edit leaves no trace of what it replaced.
    case revisionsAreLost
    /// A user's tapback does not replace the one before.
    case tapbacksAddUp
    /// Who has left is sent the texts of later.
    case textsAreOfNow
    /// Others are told what is read, whoever does not want that.
    case settingsAreIgnored
}

/// Times along a connection that keeps order.
struct Line {
    private var last = MonotonicTime(nanoseconds: 0)

    mutating func arrival(_ time: MonotonicTime) -> MonotonicTime {
        last = max(last, time)
        return last
    }
}
