import Bus
import Bytes
import Models
import Reactor
import Wire

/// Starts a session after its `hello`: queries the user's bootstrap, sends `welcome`, and adds the session to its
/// streams.
@Reactor
final class SessionStarter {
    private static let pause = Duration.seconds(1)

    private let bus: Bus
    private let dependencies: Dependencies
    private let turns: Turns
    /// Called with each session that has joined its streams.
    var onPlaced: @Reactor (Session) -> Void = { _ in }
    /// Limits the bootstraps in flight: few for a reconnecting crowd, one for each user.
    private let queries = FetchQueue(share: 1)

    /// The parts that a session joins or uses.
    struct Dependencies {
        let rooms: Rooms
        let streams: PrivateStreams
        let sessions: SessionTable
        let counters: Counters
        let presence: Presence
    }

    init(bus: Bus, dependencies: Dependencies, turns: Turns) {
        self.bus = bus
        self.dependencies = dependencies
        self.turns = turns
    }

    /// Repeats the query until there is a response or the client is gone: a client that waits is cheaper than one that
    /// reconnects.
    func start(_ session: Session, _ hello: Hello) {
        queries.run(for: session) { [self] done in
            beginRecording()
            let query = BootstrapQuery(session.user)
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.bootstrap, in: session.user.slot, deadline: Rooms.deadline, fields: fields) { [self] outcome in
                done()
                take(outcome, session, hello)
            }
        }
    }

    private func take(_ outcome: RequestOutcome, _ session: Session, _ hello: Hello) {
        guard !session.isLeaving else { return endRecording() }
        if case .response(let response) = outcome, response.status == 401 {
            // Erased, and this process does not know it yet.
            session.end(.unauthenticated, reason: "the token's user was erased")
            return endRecording()
        }
        guard let bootstrap = Bootstrap(outcome) else {
            Reactor.after(Self.pause) { [self] in start(session, hello) }
            return endRecording()
        }
        session.send(ServerFrame.welcome(session, bootstrap))
        noteDevice(of: session)
        place(session, hello, bootstrap)
    }

    /// For the list of the user's devices. If it is lost, the next session is noted.
    private func noteDevice(of session: Session) {
        guard let device = session.device.flatMap(DeviceID.init) else { return }
        let note = NoteDevice(session.user, device)
        bus.request(.noteDevice, in: session.user.slot, deadline: Rooms.deadline, fields: { note.write(to: &$0) }) {
            _ in
        }
    }

    /// Positions of streams without a feed are recorded until the last conversation is joined.
    private func place(_ session: Session, _ hello: Hello, _ bootstrap: Bootstrap) {
        let placement = Placement(session, hello, bootstrap, dependencies)
        turns.run { [self] in
            if placement.next() { return true }
            if session.isPlaced { onPlaced(session) }
            endRecording()
            return false
        }
    }

    private func beginRecording() {
        dependencies.rooms.changeRecorder.beginBootstrap()
        dependencies.rooms.statusRecorder.beginBootstrap()
        dependencies.streams.recorder.beginBootstrap()
    }

    private func endRecording() {
        dependencies.rooms.changeRecorder.endBootstrap()
        dependencies.rooms.statusRecorder.endBootstrap()
        dependencies.streams.recorder.endBootstrap()
    }
}

extension Bootstrap {
    /// Nil when there is no usable response.
    fileprivate init?(_ outcome: RequestOutcome) {
        guard case .response(let response) = outcome, response.status == 200 else { return nil }
        var reader = ByteReader(response.payload.bytes)
        guard let bootstrap = try? Bootstrap(from: &reader) else { return nil }
        self = bootstrap
    }
}
