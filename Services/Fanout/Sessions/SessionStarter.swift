import Bus
import Bytes
import Models
import Reactor
import Wire

/// Takes a session from its `hello` to where it is live: asks for the user's bootstrap, sends `welcome`, and puts the
/// session into its streams where its cursors say.
@Reactor
final class SessionStarter {
    /// A longer gap is not replayed: the client pages through it by HTTP.
    static let replayLimit = 1_000
    private static let pause = Duration.seconds(1)

    private let bus: Bus
    private let rooms: Rooms
    private let streams: PrivateStreams
    private let counters: Counters
    private let presence: Presence
    /// Told of each session that is in its streams.
    var onPlaced: @Reactor (Session) -> Void = { _ in }
    /// A reconnecting crowd asks for few bootstraps at a time; the others wait.
    private let questions = FetchQueue()

    init(bus: Bus, rooms: Rooms, streams: PrivateStreams, counters: Counters, presence: Presence) {
        self.presence = presence
        self.bus = bus
        self.rooms = rooms
        self.streams = streams
        self.counters = counters
    }

    /// Asks until there is an answer or the client has gone: a client that waits is better off than one that returns.
    func start(_ session: Session, _ hello: Hello) {
        questions.run { [self] done in
            guard !session.hasEnded else { return done() }
            listen()
            let query = BootstrapQuery(session.user)
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.bootstrap, in: session.user.slot, deadline: Rooms.deadline, fields: fields) { [self] outcome in
                done()
                take(outcome, session, hello)
                stopListening()
            }
        }
    }

    private func take(_ outcome: RequestOutcome, _ session: Session, _ hello: Hello) {
        guard !session.hasEnded else { return }
        if case .answered(let answer) = outcome, answer.status == 401 {
            // Erased, and this process has not heard of it yet.
            return session.end(.unauthenticated, reason: "the user was erased")
        }
        guard let bootstrap = Bootstrap(outcome) else {
            Reactor.after(Self.pause) { [self] in start(session, hello) }
            return
        }
        session.send(ServerFrame.welcome(session, bootstrap))
        place(session, checked(hello, against: bootstrap, session), bootstrap)
        onPlaced(session)
    }

    private func listen() {
        rooms.changeWitness.beginQuestion()
        rooms.statusWitness.beginQuestion()
        streams.witness.beginQuestion()
    }

    private func stopListening() {
        rooms.changeWitness.endQuestion()
        rooms.statusWitness.endQuestion()
        streams.witness.endQuestion()
    }

    // MARK: Placing

    /// Positions in another log, or beyond the end of this one, mean nothing: they are dropped, and the client is told.
    private func checked(_ hello: Hello, against bootstrap: Bootstrap, _ session: Session) -> Hello {
        var hello = hello
        let isOtherLog = hello.logID.map { $0 != bootstrap.logID.description } ?? false
        guard isOtherLog || hello.useq ?? 0 > bootstrap.useq else { return hello }
        counters.resets += 1
        session.send(ServerFrame.reset())
        (hello.cursors, hello.statusVersions, hello.useq) = ([:], nil, nil)
        return hello
    }

    private func place(_ session: Session, _ hello: Hello, _ bootstrap: Bootstrap) {
        for (conversation, stays) in Dictionary(grouping: bootstrap.stays, by: \.conversation) {
            place(session, hello, conversation, stays)
        }
        session.bootstrapUseq = bootstrap.useq
        session.showsPresence = bootstrap.showsPresence
        presence.started(session)
        let stream = streams.open(session.user, useq: bootstrap.useq)
        stream.add(session, after: privateStart(session, hello.useq, bootstrap), .unlimited)
    }

    /// Behind which position the session's private changes begin.
    private func privateStart(_ session: Session, _ useq: Int64?, _ bootstrap: Bootstrap) -> Int64 {
        guard let useq else { return bootstrap.useq }
        guard useq + 1 < bootstrap.firstUseq else { return useq }
        counters.reloads += 1
        session.send(ServerFrame.reload(useq: bootstrap.useq))
        return bootstrap.useq
    }

    private func place(
        _ session: Session, _ hello: Hello, _ conversation: ConversationID, _ records: [Bootstrap.Stay]
    ) {
        let stays = Stays(records.map { Stays.Stay(from: $0.from, through: $0.through) })
        session.windows.set(stays, in: conversation)
        let lastSeq = records[0].lastSeq
        let start = start(session, hello.cursors[conversation], conversation, stays, lastSeq: lastSeq)
        // A former member who has everything has nothing to wait for.
        guard stays.next(after: start) != nil else { return }
        let statusVersion = records[0].statusVersion
        let room = rooms.open(conversation, lastSeq: lastSeq, statusVersion: statusVersion)
        room.learn(memberCount: records[0].memberCount, at: lastSeq)
        room.join(session, after: start, stays)
        // The room may be further on than the bootstrap, which was read before.
        let latest = max(statusVersion, room.statusVersion)
        if let version = hello.statusVersion(in: conversation), version < latest, stays.end == nil {
            room.catchUpStatus(session, after: version)
        }
    }

    /// Behind which position the session's changes of a conversation begin.
    private func start(
        _ session: Session, _ cursor: Int64?, _ conversation: ConversationID, _ stays: Stays, lastSeq: Int64
    ) -> Int64 {
        let end = min(lastSeq, stays.end ?? .max)
        guard let cursor else { return end }
        if cursor > end {
            counters.resets += 1
            session.send(ServerFrame.reset(conversation))
            return end
        }
        if stays.count(after: cursor, through: end) > Self.replayLimit {
            counters.reloads += 1
            session.send(ServerFrame.reload(conversation, lastSeq: end))
            return end
        }
        return cursor
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
