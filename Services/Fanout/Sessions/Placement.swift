import Models
import Reactor
import Wire

/// Puts a session into its streams where its cursors say, one conversation a step.
///
/// Between two steps the world goes on. A conversation whose turn has come is joined where the bootstrap saw it, however
/// long ago that was: what has been announced since is in its feed, or `Witness` has seen it. One that has not is in
/// nobody's way. The private stream comes last; what it tells from the bootstrap on, such as a new conversation, finds all
/// others in place. Who has gone meanwhile is left where they are: their end takes them out of what they were put into.
@Reactor
final class Placement {
    private let session: Session
    private var hello: Hello
    private let bootstrap: Bootstrap
    private let places: SessionStarter.Places
    /// The stays that the first steps have gone through, by conversation; most have one.
    private var sorted = 0
    private var stays: [ConversationID: [Bootstrap.Stay]] = [:]
    private var conversations: ContiguousArray<ConversationID> = []
    private var hasBegun = false

    init(_ session: Session, _ hello: Hello, _ bootstrap: Bootstrap, _ places: SessionStarter.Places) {
        self.session = session
        self.hello = hello
        self.bootstrap = bootstrap
        self.places = places
    }

    /// Returns whether there is more to do.
    func next() -> Bool {
        guard !session.isLeaving else { return false }
        if !hasBegun { begin() }
        if sorted < bootstrap.stays.count {
            sortSome()
        } else if let conversation = conversations.popLast() {
            place(conversation, stays[conversation]!)
        } else {
            finish()
            return false
        }
        return true
    }

    private func begin() {
        hasBegun = true
        checkHello()
        session.expectedRooms = bootstrap.stays.count
        places.sessions.boundPlaces(of: session.user)
        session.showsPresence = bootstrap.showsPresence
        stays.reserveCapacity(bootstrap.stays.count)
    }

    /// Positions in another log, or beyond the end of this one, mean nothing: they are dropped, and the client is told.
    private func checkHello() {
        let isOtherLog = hello.logID.map { $0 != bootstrap.logID.description } ?? false
        guard isOtherLog || hello.useq ?? 0 > bootstrap.useq else { return }
        places.counters.resets += 1
        session.send(ServerFrame.reset())
        (hello.cursors, hello.statusVersions, hello.useq) = ([:], nil, nil)
    }

    /// Much less work than placing: several make a step.
    private func sortSome() {
        let end = min(sorted + 8, bootstrap.stays.count)
        for stay in bootstrap.stays[sorted..<end] {
            if stays[stay.conversation] == nil { conversations.append(stay.conversation) }
            stays[stay.conversation, default: []].append(stay)
        }
        sorted = end
    }

    private func finish() {
        session.bootstrapUseq = bootstrap.useq
        session.isPlaced = true
        session.expectedRooms = 0
        places.presence.started(session)
        let stream = places.streams.open(session.user, useq: bootstrap.useq)
        stream.add(session, after: privateStart(), .unlimited)
    }

    /// Behind which position the session's private changes begin.
    private func privateStart() -> Int64 {
        guard let useq = hello.useq else { return bootstrap.useq }
        guard useq + 1 < bootstrap.firstUseq else { return useq }
        places.counters.reloads += 1
        session.send(ServerFrame.reload(useq: bootstrap.useq))
        return bootstrap.useq
    }

    // MARK: A conversation

    private func place(_ conversation: ConversationID, _ records: [Bootstrap.Stay]) {
        let stays = Stays(records.map { Stays.Stay(from: $0.from, through: $0.through) })
        session.windows.set(stays, in: conversation)
        let lastSeq = records[0].lastSeq
        let start = start(in: conversation, stays, lastSeq: lastSeq)
        // A former member who has everything has nothing to wait for.
        guard stays.next(after: start) != nil else { return }
        let statusVersion = records[0].statusVersion
        let room = places.rooms.open(conversation, lastSeq: lastSeq, statusVersion: statusVersion)
        room.learn(memberCount: records[0].memberCount, at: lastSeq)
        room.join(session, after: start, stays)
        places.presence.placed(session, room)
        // The room may be further on than the bootstrap, which was read before.
        let latest = max(statusVersion, room.statusVersion)
        if let version = hello.statusVersion(in: conversation), version < latest, stays.end == nil {
            room.catchUpStatus(session, after: version)
        }
    }

    /// Behind which position the session's changes of a conversation begin.
    private func start(in conversation: ConversationID, _ stays: Stays, lastSeq: Int64) -> Int64 {
        let end = min(lastSeq, stays.end ?? .max)
        guard let cursor = hello.cursors[conversation] else { return end }
        if cursor > end {
            places.counters.resets += 1
            session.send(ServerFrame.reset(conversation))
            return end
        }
        if stays.count(after: cursor, through: end) > ContractLimits.replayChanges {
            places.counters.reloads += 1
            session.send(ServerFrame.reload(conversation, lastSeq: end))
            return end
        }
        return cursor
    }
}
