import Bus
import Bytes
import Models
import Reactor
import Wire

/// Takes a session from its `hello` to where it is live: asks for the user's bootstrap, sends `welcome`, and has the session
/// put into its streams.
@Reactor
final class SessionStarter {
    private static let pause = Duration.seconds(1)

    private let bus: Bus
    private let places: Places
    private let turns: Turns
    /// Told of each session that is in its streams.
    var onPlaced: @Reactor (Session) -> Void = { _ in }
    /// A reconnecting crowd asks for few bootstraps at a time, and a user with many sessions for one; the others wait.
    private let questions = FetchQueue(share: 1)

    /// The streams that sessions are put into.
    struct Places {
        let rooms: Rooms
        let streams: PrivateStreams
        let sessions: SessionTable
        let counters: Counters
        let presence: Presence
    }

    init(bus: Bus, places: Places, turns: Turns) {
        self.bus = bus
        self.places = places
        self.turns = turns
    }

    /// Asks until there is an answer or the client has gone: a client that waits is better off than one that returns.
    func start(_ session: Session, _ hello: Hello) {
        questions.run(for: session) { [self] done in
            listen()
            let query = BootstrapQuery(session.user)
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.bootstrap, in: session.user.slot, deadline: Rooms.deadline, fields: fields) { [self] outcome in
                done()
                take(outcome, session, hello)
            }
        }
    }

    private func take(_ outcome: RequestOutcome, _ session: Session, _ hello: Hello) {
        guard !session.isLeaving else { return stopListening() }
        if case .answered(let answer) = outcome, answer.status == 401 {
            // Erased, and this process has not heard of it yet.
            session.end(.unauthenticated, reason: "the user was erased")
            return stopListening()
        }
        guard let bootstrap = Bootstrap(outcome) else {
            Reactor.after(Self.pause) { [self] in start(session, hello) }
            return stopListening()
        }
        session.send(ServerFrame.welcome(session, bootstrap))
        place(session, hello, bootstrap)
    }

    /// What the bus says about streams that have no feed yet is kept in mind until the last conversation has its place.
    private func place(_ session: Session, _ hello: Hello, _ bootstrap: Bootstrap) {
        let placement = Placement(session, hello, bootstrap, places)
        turns.run { [self] in
            if placement.next() { return true }
            if session.isPlaced { onPlaced(session) }
            stopListening()
            return false
        }
    }

    private func listen() {
        places.rooms.changeWitness.beginQuestion()
        places.rooms.statusWitness.beginQuestion()
        places.streams.witness.beginQuestion()
    }

    private func stopListening() {
        places.rooms.changeWitness.endQuestion()
        places.rooms.statusWitness.endQuestion()
        places.streams.witness.endQuestion()
    }
}

extension Bootstrap {
    /// Nil when there is no answer that could be used.
    fileprivate init?(_ outcome: RequestOutcome) {
        guard case .answered(let answer) = outcome, answer.status == 200 else { return nil }
        var reader = ByteReader(answer.payload.bytes)
        guard let bootstrap = try? Bootstrap(from: &reader) else { return nil }
        self = bootstrap
    }
}
