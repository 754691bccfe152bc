import Models
import Reactor
import SimulationSupport

/// What the simulated database carried out in a run, in the order of its commits.
@Reactor
final class Transcript {
    enum Event {
        case committed(Transaction)
        /// A session lost its advisory locks, and goes on.
        case unlocked(session: Int32)
        case ended(session: Int32)
    }

    struct Transaction {
        let session: Int32
        /// The time of the database server.
        let at: Timestamp
        let steps: [Step]
        /// Whether any private stream has moved.
        let tellsUsers: Bool
    }

    /// A statement and what the model returned for it.
    struct Step {
        let statement: SimulatedStatement
        let rows: [SimulatedRow]
        /// The identifier that the model chose at random.
        let id: UUIDBytes?
    }

    private(set) var events: [Event] = []
    let initial: Tables
    /// The identifier chosen by the statement that is being carried out. No statement chooses two.
    var chosen: UUIDBytes? {
        willSet { precondition(newValue == nil || chosen == nil, "a statement chooses one identifier") }
    }
    private var steps: [Step] = []
    private var privatePositions: Int64

    init(_ initial: Tables) {
        self.initial = initial
        privatePositions = initial.privatePositions
    }

    /// Notes a step of the transaction that is being carried out.
    func carriedOut(_ statement: SimulatedStatement, _ rows: [SimulatedRow]) {
        steps.append(Step(statement: statement, rows: rows, id: chosen))
        chosen = nil
    }

    /// Ends the transaction.
    func committed(by session: Int32, at time: Timestamp, leaving tables: Tables) {
        let moved = tables.privatePositions
        events.append(
            .committed(Transaction(session: session, at: time, steps: steps, tellsUsers: moved != privatePositions)))
        steps = []
        privatePositions = moved
    }

    func unlocked(_ session: Int32) { events.append(.unlocked(session: session)) }
    func ended(_ session: Int32) { events.append(.ended(session: session)) }
}

extension Tables {
    /// The positions of all private streams together, which only grow.
    fileprivate var privatePositions: Int64 { users.values.reduce(0) { $0 + $1.useq } }
}
